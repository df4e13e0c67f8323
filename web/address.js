// What is chosen in one part of the page, kept in its address: #figure-sweep?x=size.n&panel=task. A link to it shows the same.

const split = () => {
  const [place, query = ""] = location.hash.slice(1).split("?");
  return { place: decodeURIComponent(place), query };
};

// The element that the address names, whatever is chosen there.
export const placeOf = () => split().place;

// What was chosen at this place; nothing where the address names another.
export function chosenAt(place) {
  const { place: there, query } = split();
  return Object.fromEntries(there === place ? new URLSearchParams(query) : []);
}

// Replaces the address without a step in the history. Empty choices are left out.
export function keepChoice(place, choices) {
  const query = new URLSearchParams(Object.entries(choices).filter(([, value]) => value !== "" && value !== undefined));
  history.replaceState(null, "", `#${place}${query.size ?? [...query].length ? `?${query}` : ""}`);
}
