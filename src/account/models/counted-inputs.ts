/** A request whose provider counted more input than the model's `context_tokens` allows. */
export interface CountedBeyond {
  readonly model: string
  readonly counted: number
  readonly context_tokens: number
}

/** The largest inputs that providers have counted beyond a model's `context_tokens` since the server started, for operators. */
export interface CountedInputs {
  note(model: { readonly id: string; readonly contextTokens: number }, inputTokens: number): void
  /** Undefined while none was larger than the context that is configured now. */
  largest(model: { readonly id: string; readonly contextTokens: number }): number | undefined
}

/** Only models of the catalogue are noted, so there are never more than it ever had. `onLarger` hears of each new maximum. */
export function createCountedInputs(onLarger: (found: CountedBeyond) => void): CountedInputs {
  const largest = new Map<string, number>()
  const beyond = (counted: number | undefined, contextTokens: number) =>
    counted !== undefined && counted > contextTokens ? counted : undefined
  return {
    note({ id, contextTokens }, inputTokens) {
      if (inputTokens <= contextTokens || inputTokens <= (largest.get(id) ?? 0)) return
      largest.set(id, inputTokens)
      onLarger({ model: id, counted: inputTokens, context_tokens: contextTokens })
    },
    largest: ({ id, contextTokens }) => beyond(largest.get(id), contextTokens),
  }
}
