let waiting: ((confirmed: boolean) => void)[] = []
const listeners = new Set<() => void>()

const tellAll = () => {
  for (const listener of listeners) listener()
}

/** Opens the question for the password; several acts that need it at once share one answer. */
export const askPassword = (): Promise<boolean> =>
  new Promise((resolve) => {
    waiting = [...waiting, resolve]
    tellAll()
  })

export function answerPassword(confirmed: boolean): void {
  const told = waiting
  waiting = []
  tellAll()
  for (const tell of told) tell(confirmed)
}

export const isPasswordAsked = (): boolean => waiting.length > 0

export function onPasswordAsked(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
