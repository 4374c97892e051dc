/** An optional package that this use needs is not there. Known by its name, which outlives the way between two threads. */
export class MissingPart extends Error {
  override readonly name = 'MissingPart'
}

/** Looks through what an error was caused by. */
export const isMissingPart = (error: unknown): boolean =>
  error instanceof Error && (error.name === 'MissingPart' || isMissingPart(error.cause))
