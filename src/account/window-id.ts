const SUBJECT = 'window:'

/** What a window is: of which kind, and from when. */
export interface NamedWindow {
  readonly subject: string
  readonly start: number
}

/**
 * What a window is asked for by. Its name and its start, which its account sees anyway: the number of its row would tell how
 * many windows there are in all the house.
 */
export const windowId = ({ subject, start }: NamedWindow): string =>
  `${start.toString(36)}.${subject.slice(SUBJECT.length)}`

export function parseWindowId(id: string): NamedWindow | undefined {
  const [, start, name] = /^([0-9a-z]{1,11})\.(.{1,100})$/su.exec(id) ?? []
  if (start === undefined || name === undefined) return undefined
  const at = Number.parseInt(start, 36)
  return Number.isSafeInteger(at) ? { subject: `${SUBJECT}${name}`, start: at } : undefined
}

export const windowName = (subject: string): string => subject.slice(SUBJECT.length)
