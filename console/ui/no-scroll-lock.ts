/**
 * In place of `react-remove-scroll` (`vite.config.ts`), with which the modal parts of Radix keep the page from scrolling: it writes
 * style elements, which the content policy forbids. Ours are not modal, so nobody has to load it; one that is fails where it is tried.
 */
export function RemoveScroll(): never {
  throw new Error('nothing of Radix may be modal here: a dialog of the browser is')
}
