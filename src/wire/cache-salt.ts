import type { Fields } from '../lib/is-object.ts'
import type { LaneManners } from './lane-manners.ts'

/** Of an account: see `createCacheSalts`. Undefined where nobody's words are sent. */
export type CacheSalt = string | undefined

interface SaltedTarget {
  readonly dialect: LaneManners
  readonly cacheSalt: CacheSalt
}

/** The salt under the name that the server has for it, instead of whatever the client has written there. */
export const saltFields = ({ dialect: { cacheSaltField }, cacheSalt }: SaltedTarget): Fields =>
  cacheSaltField === undefined || cacheSalt === undefined ? {} : { [cacheSaltField]: cacheSalt }
