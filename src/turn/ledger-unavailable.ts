import { type Problem, passingProblem } from '../model/problem.ts'

/** What is said wherever a turn meets books that cannot be written. */
export const ledgerUnavailable = (): Problem =>
  passingProblem('ledger_unavailable', 'The ledger cannot record requests at the moment.', { retryAfterSeconds: 2 })
