import type { ConfiguredLimits } from '../limits/limits-for-turn.ts'
import type { LimitRates } from '../model/limit.ts'
import type { LimitsConfig } from './config/config.ts'

const MINUTE_MS = 60_000

/** The configuration says how long a pause may be made up for; limits count in requests and tokens. */
export const effectiveLimits = ({ key, account }: LimitsConfig): ConfiguredLimits => ({
  key: withBursts(key),
  account: withBursts(account),
})

function withBursts({ burstMs, ...rates }: LimitsConfig['key']): LimitRates {
  const burstOf = (perMinute: number) => Math.max(1, Math.floor((perMinute * burstMs) / MINUTE_MS))
  return {
    ...rates,
    ...(rates.requestsPerMinute === undefined ? {} : { requestsBurst: burstOf(rates.requestsPerMinute) }),
    ...(rates.tokensPerMinute === undefined ? {} : { tokensBurst: burstOf(rates.tokensPerMinute) }),
  }
}
