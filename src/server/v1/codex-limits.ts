import type { AllowanceStatus } from '../../ledger/state/state.ts'
import { EVER_MS, measureOf } from '../../model/allowance.ts'
import type { Caller } from '../../model/caller.ts'
import { formatUsd, type NanoUsd } from '../../model/money.ts'
import type { EdgeServices } from '../services.ts'
import type { ClientSink } from '../sinks.ts'

/**
 * Tells Codex what the key has left, in the headers that its `/status` reads: two windows and a balance. They are as before this request,
 * and without what running requests hold, which is mostly given back.
 */
export async function announceCodexLimits(edge: EdgeServices, sink: ClientSink, caller: Caller): Promise<void> {
  const windows = (caller.plan && edge.rules.current.catalog.plans.get(caller.plan.id)?.windows) ?? []
  const allowances = [...windows, ...caller.caps]
  try {
    const [{ statuses }, wallet] = await Promise.all([
      edge.ledger.allowanceStatuses(caller.account, allowances),
      caller.kind === 'wallet' ? edge.ledger.accountStatus(caller.account) : undefined,
    ])
    sink.announce(codexLimitHeaders(statuses, wallet?.balance))
  } catch {
    // A ledger that does not answer refuses the request itself, and says why.
  }
}

/** The shortest period is Codex's primary window, and the longest its secondary one. */
function codexLimitHeaders(
  statuses: readonly AllowanceStatus[],
  balance: NanoUsd | undefined,
): Readonly<Record<string, string>> {
  const lengthOf = ({ period }: AllowanceStatus) => (period.end === EVER_MS ? EVER_MS : period.end - period.start)
  const inDollars = statuses
    .filter(({ allowance, granted }) => measureOf(allowance) === 'usd' && granted > 0n)
    .sort((one, other) => lengthOf(one) - lengthOf(other))
  const [primary] = inDollars
  const secondary = inDollars.length > 1 ? inDollars.at(-1) : undefined
  return {
    ...(primary && windowHeaders('primary', primary)),
    ...(secondary && windowHeaders('secondary', secondary)),
    ...(balance !== undefined && {
      'x-codex-credits-has-credits': String(balance > 0n),
      'x-codex-credits-unlimited': 'false',
      'x-codex-credits-balance': formatUsd(balance > 0n ? balance : (0n as NanoUsd)),
    }),
  }
}

function windowHeaders(name: 'primary' | 'secondary', { granted, posted, period }: AllowanceStatus) {
  const used = posted > 0n ? granted - posted : granted
  const percent = Number((used * 10_000n) / granted) / 100
  return {
    [`x-codex-${name}-used-percent`]: String(percent),
    ...(period.end < EVER_MS && {
      [`x-codex-${name}-window-minutes`]: String(Math.round((period.end - period.start) / 60_000)),
      [`x-codex-${name}-reset-at`]: String(Math.round(period.end / 1000)),
    }),
  }
}
