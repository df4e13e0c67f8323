// The page's data, rung.report/2, with what is not of the promised shape left out: records come from many hands.

const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
const objects = (list) => (Array.isArray(list) ? list.filter(isObject) : []);

function hierarchyOf(hierarchy) {
  if (!isObject(hierarchy)) return null;
  return { ...hierarchy, columns: objects(hierarchy.columns), rows: objects(hierarchy.rows), cells: objects(hierarchy.cells),
    highlights: objects(hierarchy.highlights).map(
      (highlight) => ({ ...highlight, cells: objects(highlight.cells) })) };
}

function labOf(record) {
  const lab = isObject(record.lab) ? record.lab : {};
  return {
    ...record,
    lab: {
      ...lab, configurations: objects(lab.configurations).filter(({ id }) => typeof id === "string"),
      verdicts: objects(lab.verdicts),
    },
  };
}

export function readDocument(text) {
  const data = JSON.parse(text);
  return {
    ...data, hierarchy: hierarchyOf(data.hierarchy), lab: objects(data.lab).map(labOf), sweeps: objects(data.sweeps),
    horizons: objects(data.horizons).map((model) => ({ ...model, tasks: objects(model.tasks) })),
    protocols: objects(data.protocols).filter(
      ({ document }) => isObject(document) && Array.isArray(document.players)),
    runs: isObject(data.runs) ? { ...data.runs, members: objects(data.runs.members) } : null,
    absent: objects(data.absent), theorems: isObject(data.theorems) ? data.theorems : {},
  };
}
