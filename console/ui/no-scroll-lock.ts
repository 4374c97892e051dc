/**
 * Replaces `react-remove-scroll` (see vite.config.ts), which locks scrolling for modal parts of Radix by writing style
 * elements, which the content security policy forbids. The console uses no modal parts of Radix, and one that did would
 * fail here.
 */
export function RemoveScroll(): never {
  throw new Error('nothing of Radix may be modal here: a dialog of the browser is')
}
