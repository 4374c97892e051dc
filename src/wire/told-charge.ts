import type { Fields } from '../lib/is-object.ts'
import type { SettledCharge } from '../model/ending.ts'
import { formatUsd } from '../model/money.ts'

/** What a turn has cost, as clients of both protocols are told beside the usage: exact, as a decimal string. */
export const toldCharge = ({ usage, charge, tier, price }: SettledCharge): Fields => ({
  charge: formatUsd(charge),
  currency: 'USD',
  tier,
  price_version: price.version,
  ...(usage.estimated ? { estimated: true } : {}),
})
