import { type Problem, type ProblemCode, type ProblemDetails, problem } from './problem.ts'

interface Passing extends ProblemDetails {
  readonly retryAfterSeconds: number
  /** What else whoever waits should know or do, as half a sentence. */
  readonly first?: string | undefined
}

const again = (seconds: number): string => `try again in ${seconds}s.`

/** Something that passes: its words say when to come back, and the header that is made of it says the same. */
export const passingProblem = (
  code: ProblemCode,
  what: string,
  { first = 'Nothing was charged', ...details }: Passing,
): Problem => problem(code, `${what} ${first}; ${again(details.retryAfterSeconds)}`, details)

/** The same, where another moment turns out to be right. What does not pass stays as it is. */
export function passingIn(said: Problem, retryAfterSeconds: number): Problem {
  if (said.retryAfterSeconds === undefined) return said
  const message = said.message.replace(again(said.retryAfterSeconds), again(retryAfterSeconds))
  return { ...said, message, retryAfterSeconds }
}
