import { type Problem, type ProblemCode, type ProblemDetails, problem } from './problem.ts'

interface Passing extends ProblemDetails {
  readonly retryAfterSeconds: number
  /** What else whoever waits should know or do, as half a sentence. */
  readonly first?: string | undefined
}

/** Something that passes: its words say when to come back, and the header that is made of it says the same. */
export const passingProblem = (
  code: ProblemCode,
  what: string,
  { first = 'Nothing was charged', ...details }: Passing,
): Problem => problem(code, `${what} ${first}; try again in ${details.retryAfterSeconds}s.`, details)
