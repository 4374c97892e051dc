import { scrub } from '../../telemetry/scrub.ts'

/** Errors that nobody caught, wherever in the process they were thrown. */
export interface Faults {
  /** Takes them over from whoever had them before; returns how to give them back. */
  take(onFault: (error: unknown) => void): () => void
}

/**
 * Node's own last resort ends the process on the spot, with turns half-paid and a stack on the terminal. Whoever is the
 * last to have taken the faults decides instead.
 */
export function createFaults(source: Pick<NodeJS.Process, 'on'>, byDefault: (error: unknown) => void): Faults {
  const takers = [byDefault]
  const onFault = (error: unknown) => takers.at(-1)!(error)
  source.on('uncaughtException', onFault)
  source.on('unhandledRejection', onFault)
  return {
    take(taker) {
      takers.push(taker)
      return () => {
        takers.splice(takers.lastIndexOf(taker), 1)
      }
    },
  }
}

/** What a person is told of a failure that nobody expected: what broke and why, without a stack and without secrets. */
export function failureSentences(error: unknown): string[] {
  if (error instanceof AggregateError) return error.errors.flatMap(failureSentences)
  if (!(error instanceof Error)) return [scrub(String(error))]
  // Whoever wraps a failure often quotes it: what was said already is not said again.
  const message = scrub(error.message)
  const causes = error.cause === undefined ? [] : failureSentences(error.cause)
  return [message, ...causes.filter((cause) => !message.includes(cause))]
}
