import type { AllowanceStanding } from '../../books/books.ts'
import { isUnused } from '../../books/periods.ts'
import { formatUsd } from '../../model/money.ts'
import { isoTime } from '../moments.ts'

/** Decimal strings in USD that add up: `used`, `held` by running requests, and `left` make `limit`. */
interface AmountsView {
  readonly limit: string
  readonly used: string
  readonly held: string
  readonly left: string
}

/** A window of a plan. One that nobody has used yet has not opened, and so has no times. */
export interface WindowView extends AmountsView {
  readonly name: string
  readonly opened: boolean
  readonly start: string | null
  readonly end: string | null
}

/** What a key may spend, counted from the start of a day or a month of UTC whether it spends or not. */
export interface CapView extends AmountsView {
  readonly name: string
  readonly start: string
  readonly end: string
}

export function windowView(standing: AllowanceStanding): WindowView {
  const { allowance, period, running } = standing
  const opened = running !== undefined && !isUnused(running)
  return {
    name: allowance.name,
    opened,
    start: opened ? isoTime(period.start) : null,
    end: opened ? isoTime(period.end) : null,
    ...amountsOf(standing),
  }
}

export const capView = (standing: AllowanceStanding): CapView => ({
  name: standing.allowance.name,
  start: isoTime(standing.period.start),
  end: isoTime(standing.period.end),
  ...amountsOf(standing),
})

/** A cap that was lowered below what is spent leaves nothing, not less than nothing. */
function amountsOf({ granted, posted, held }: AllowanceStanding): AmountsView {
  const left = posted > held ? posted - held : 0n
  return { limit: formatUsd(granted), used: formatUsd(granted - posted), held: formatUsd(held), left: formatUsd(left) }
}
