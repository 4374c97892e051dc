/** Dialogs that show, or are about to show, what is shown once. */
let holds = 0
let wanted: string | undefined
let isLeaving = false

function leaveIfFree(): void {
  if (holds > 0 || wanted === undefined || isLeaving) return
  isLeaving = true
  location.replace(wanted)
}

/**
 * Away from a page whose person is not signed in any more. The next one is loaded anew, so that nothing of theirs is left in
 * memory for whoever comes then. Where something is shown that is shown once, it waits until that is put away.
 */
export function leavePage(address: string): void {
  wanted = address
  leaveIfFree()
}

/** Whether this page is over, though it may still be held. */
export const isPageOver = (): boolean => wanted !== undefined

/** Keeps the page until it is let go again. */
export function holdPage(): () => void {
  holds += 1
  return () => {
    holds -= 1
    // The dialog that makes a secret goes in the moment in which the one comes that shows it.
    queueMicrotask(leaveIfFree)
  }
}
