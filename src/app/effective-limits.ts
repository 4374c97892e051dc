import type { RateRule } from '../lib/gcra.ts'
import type { ConfiguredLimits } from '../limits/limits-for-turn.ts'
import type { LimitRates } from '../model/limit.ts'
import type { LimitsConfig } from './config/config.ts'

const MINUTE_MS = 60_000

/** The configuration says how long a pause may be made up for; limits count in requests and tokens. */
export const effectiveLimits = ({ key, account, accountModel, model }: LimitsConfig): ConfiguredLimits => ({
  key: withBursts(key),
  account: withBursts(account),
  accountModel: withBursts(accountModel),
  model: withBursts(model),
})

export const effectiveAddressRule = ({ refusedPerMinute, burstMs }: LimitsConfig['address']): RateRule | undefined =>
  refusedPerMinute === undefined
    ? undefined
    : { perMinute: refusedPerMinute, burst: burstOf(refusedPerMinute, burstMs) }

function withBursts({ burstMs, ...rates }: LimitsConfig['key']): LimitRates {
  return {
    ...rates,
    ...(rates.requestsPerMinute === undefined ? {} : { requestsBurst: burstOf(rates.requestsPerMinute, burstMs) }),
    ...(rates.tokensPerMinute === undefined ? {} : { tokensBurst: burstOf(rates.tokensPerMinute, burstMs) }),
  }
}

const burstOf = (perMinute: number, burstMs: number): number =>
  Math.max(1, Math.floor((perMinute * burstMs) / MINUTE_MS))
