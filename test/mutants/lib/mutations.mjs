import { OF_THE_CONSOLE } from '../mutations/console.mjs'
import { OF_THE_EDGE } from '../mutations/edge.mjs'
import { OF_WHAT_IS_KEPT } from '../mutations/kept.mjs'
import { OF_LANES } from '../mutations/lanes.mjs'
import { OF_LIMITS } from '../mutations/limits.mjs'
import { OF_MONEY } from '../mutations/money.mjs'
import { OF_SECRETS } from '../mutations/secrets.mjs'
import { OF_TURNS } from '../mutations/turn.mjs'
import { OF_THE_WIRE } from '../mutations/wire.mjs'

/** Each is a piece of the source replaced by another, with the suites that must see it. */
export const MUTANTS = [
  ...[...OF_MONEY, ...OF_LANES, ...OF_LIMITS, ...OF_THE_WIRE, ...OF_TURNS],
  ...[...OF_THE_EDGE, ...OF_SECRETS, ...OF_WHAT_IS_KEPT, ...OF_THE_CONSOLE],
]
