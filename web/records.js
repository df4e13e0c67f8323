// Records of experiments, shipped and own, read defensively: what a record lacks is left out of the figure.

export const originName = (record) => (record.origin === "own" ? "yours" : "shipped");

// The records of the named experiment that have configurations to show, each with the words that tell it from the others.
export function recordsOf(data, experiment, shows) {
  return (data.lab ?? []).filter((record) => record.lab?.experiment === experiment).map((record) => ({
    record, origin: originName(record), size: record.lab.size,
    name: [`size ${record.lab.size}`, record.provenance?.device].filter(Boolean).join(", "),
    configurations: (record.lab.configurations ?? []).filter(shows),
  })).filter(({ configurations }) => configurations.length > 0)
    .sort((a, b) => b.configurations.length - a.configurations.length);
}

export const commandsOf = (entries) => [...new Set(entries.map(({ record }) => record.command).filter(Boolean))];

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
