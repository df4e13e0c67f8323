// The bound explorer, shown only where `rung serve` answers. `section` is empty and in the page; `data` is the document of the page.
export function mountExplorer(section, data) {
  section.hidden = true;
}
