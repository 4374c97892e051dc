import type { Session } from '../../account/people/find-session.ts'
import type { CallerOutcome } from '../../keys/known-key.ts'
import type { Caller } from '../../model/caller.ts'
import type { Asking } from './api/ask.ts'
import type { ConsoleFiles } from './console-files.ts'
import type { SiteOptions } from './site.ts'

/** Answers what the console asks, whoever asks it. */
export interface ConsoleApi {
  fetch(request: Request, asking: Asking): Response | Promise<Response>
}

/** All that the console needs of the house behind it. */
export interface ConsoleDeps {
  readonly site: SiteOptions
  readonly files: ConsoleFiles
  readonly api: ConsoleApi
  /** Undefined for none, one that is over, and one of somebody who may not sign in any more. */
  findSession(secret: string): Promise<Session | undefined>
  /** Counts a question on its address: seconds to wait where there were too many. */
  countAsker(address: string): number | undefined
  /** Who asks a model in the playground, and which purse pays. */
  findPlayer(account: NonNullable<Session['account']>, kind: Caller['kind']): Promise<CallerOutcome>
}
