import type { Fields } from '../lib/is-object.ts'
import type { Effort } from '../model/effort.ts'
import type { PromptCache } from '../model/model-traits.ts'
import type { Delivery, Protocol } from '../model/turn.ts'
import type { LaneManners } from './lane-manners.ts'
import type { ToolNames } from './tools/tool-names.ts'

/** What a lane is told besides what its client says, whichever way the request goes. */
export interface LaneTarget<Dialect> {
  readonly model: string
  /** Whose seals it can open. */
  readonly origin: string
  readonly effort: Effort | undefined
  /** The cap that the hold covers: never more than what admission granted. */
  readonly outputCap: number
  readonly dialect: Dialect
  readonly delivery: Delivery
  /** What of the prompt the provider shall keep, where it has to be asked to. */
  readonly promptCache: PromptCache
  readonly cacheSalt: CacheSalt
  /** The protocol of the client, in whose words it is told what its lane does not get. */
  readonly client: Protocol
}

/** The same where the client's own request goes to a lane that speaks its language. */
export interface RelayTarget<Dialect> extends Omit<LaneTarget<Dialect>, 'promptCache' | 'client'> {
  /** Fields that the operator lets pass, whether the server is known to understand them or not. */
  readonly passFields: readonly string[]
}

/** A request in a lane's words: the client's own, retargeted, or a conversation that was written down. */
export interface LaneRequest {
  readonly body: Buffer
  /** What of the request this lane does not get, by the names that the client knows. */
  readonly leftOut: readonly string[]
}

/** A conversation in a lane's words. */
export interface WrittenRequest extends Pick<LaneRequest, 'leftOut'> {
  /** As JSON takes it: what has no value is not in it. */
  readonly body: Fields
  /** It carries the client's cache marks. */
  readonly keepsMarks?: boolean
  /** For the way back. */
  readonly tools: ToolNames
  /** The name of the tool whose input is the answer, where the lane keeps to a schema only in that way. */
  readonly answerTool?: string | undefined
}

/** Of an account: see `createCacheSalts`. Undefined where nobody's words are sent. */
export type CacheSalt = string | undefined

interface SaltedTarget {
  readonly dialect: LaneManners
  readonly cacheSalt: CacheSalt
}

/** The salt under the name that the server has for it, instead of whatever the client has written there. */
export const saltFields = ({ dialect: { cacheSaltField }, cacheSalt }: SaltedTarget): Fields =>
  cacheSaltField === undefined || cacheSalt === undefined ? {} : { [cacheSaltField]: cacheSalt }
