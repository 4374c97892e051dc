/** Where a command speaks and listens. Data goes to `out`, everything said to a person beside it to `err`. */
export interface Terminal {
  out(text: string): void
  err(text: string): void
  /** Whether colours may be used on each stream: a TTY, unless NO_COLOR, TERM=dumb or FORCE_COLOR say otherwise. */
  readonly colours: { readonly out: boolean; readonly err: boolean }
  /** A person sits at the input and reads the questions: only then may one be asked. */
  readonly interactive: boolean
  /** A person reads both outputs as they come: only then may a secret be printed unasked. */
  readonly attended: boolean
  /** Undefined when the person closed the input instead of answering. */
  ask(question: string): Promise<string | undefined>
}
