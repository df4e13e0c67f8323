// Records of experiments, shipped and own, read defensively: what a record lacks is left out of the figure.

export const originName = (record) => (record.origin === "own" ? "yours" : "shipped");

// Every configuration of the named experiment, in all records that have it.
export function configurationsOf(data, experiment) {
  return (data.lab ?? []).flatMap((record) => {
    const lab = record.lab ?? {};
    if (lab.experiment !== experiment) return [];
    return (lab.configurations ?? []).map(
      (configuration) => ({ record, origin: originName(record), size: lab.size, configuration }));
  });
}

export const commandsOf = (entries) => [...new Set(entries.map(({ record }) => record.command).filter(Boolean))];
export const hasOwn = (entries) => entries.some(({ origin }) => origin === "yours");

// "certified-linear-64" -> "linear"
export const mechanismOf = (configuration) => configuration.mechanism ?? configuration.id.replace(/^certified-/, "").replace(/-\d+$/, "");
export const sizeOf = (configuration) => configuration.capacity?.n ?? configuration.task_size?.n ?? configuration.tasks?.[0]?.size?.n ?? (
  Number(/-(\d+)$/.exec(configuration.id)?.[1]) || null);

// Groups in order of first appearance.
export function grouped(entries, key) {
  const groups = new Map();
  for (const entry of entries) {
    const name = key(entry);
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name).push(entry);
  }
  return groups;
}
