/** Counts the open dialogs that show a secret once. */
let holds = 0
let wanted: string | undefined
let isLeaving = false

function leaveIfFree(): void {
  if (holds > 0 || wanted === undefined || isLeaving) return
  isLeaving = true
  location.replace(wanted)
}

/**
 * Leaves the page after its session has ended. A full load clears everything of this person from memory. Waits while a
 * dialog shows a secret that is shown only once.
 */
export function leavePage(address: string): void {
  wanted = address
  leaveIfFree()
}

/** True once the page should be left, even while a dialog delays it. */
export const isPageOver = (): boolean => wanted !== undefined

/** Delays leaving the page until the returned function is called. */
export function holdPage(): () => void {
  holds += 1
  return () => {
    holds -= 1
    // The dialog that creates a secret closes in the same tick in which the one that shows it opens.
    queueMicrotask(leaveIfFree)
  }
}
