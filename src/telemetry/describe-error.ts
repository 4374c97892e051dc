import { scrub } from './scrub.ts'

/** Causes of causes are followed so far; who needs more has a loop. */
const DEPTH_MAX = 4
/** An AggregateError of a thousand is as clear after the first few. */
const ERRORS_MAX = 5

export interface DescribedError {
  readonly name: string
  readonly message: string
  readonly code?: string
  readonly stack?: string
  readonly cause?: DescribedError
  readonly errors?: readonly DescribedError[]
}

/** An error as a log may hold it: every text scrubbed, no properties but these, because libraries hang requests on errors. */
export function describeError(error: unknown, depth = 0): DescribedError {
  if (!(error instanceof Error)) return { name: typeof error, message: scrub(textOf(error)) }
  const { code } = error as NodeJS.ErrnoException
  const described = {
    name: scrub(String(error.name)),
    message: scrub(String(error.message)),
    ...(typeof code === 'string' ? { code: scrub(code) } : {}),
    ...(typeof error.stack === 'string' ? { stack: scrub(error.stack) } : {}),
  }
  if (depth >= DEPTH_MAX) return described
  return {
    ...described,
    ...(error.cause === undefined ? {} : { cause: describeError(error.cause, depth + 1) }),
    ...(error instanceof AggregateError
      ? { errors: error.errors.slice(0, ERRORS_MAX).map((each) => describeError(each, depth + 1)) }
      : {}),
  }
}

function textOf(value: unknown): string {
  try {
    return String(value)
  } catch {
    return 'a value that cannot be shown'
  }
}
