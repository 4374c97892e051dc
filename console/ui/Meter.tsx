import { isZero, shareOf, sumMoney } from '../lib/money.ts'
import { useFormats, useMessages } from '../messages/MessagesProvider.tsx'

interface MeterProps {
  readonly label: string
  readonly used: string
  readonly held?: string
  readonly limit: string
  readonly left: string
}

const NEARLY = 0.9

/** How much of an allowance is used, how much is held by what runs now, and what is left. */
export function Meter({ label, used, held = '0.00', limit, left }: MeterProps) {
  const formats = useFormats()
  const { common } = useMessages()
  const usedShare = shareOf(used, limit)
  const takenShare = shareOf(sumMoney(used, held), limit)
  const [usedText, heldText, limitText, leftText] = [used, held, limit, left].map(formats.money)
  const valueText = isZero(held)
    ? common.meter(usedText ?? '', limitText ?? '', leftText ?? '')
    : common.meterHeld(usedText ?? '', heldText ?? '', limitText ?? '', leftText ?? '')
  return (
    // biome-ignore lint/a11y/useSemanticElements: a native meter cannot show what is held beside what is used.
    <div
      role="meter"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.round(takenShare * 100)}
      aria-valuetext={valueText}
      className="flex h-2.5 overflow-hidden rounded-full bg-sunken ring-1 ring-line ring-inset"
    >
      <div className={takenShare >= NEARLY ? 'bg-bad' : 'bg-accent'} style={{ inlineSize: `${usedShare * 100}%` }} />
      <div className="bg-held opacity-75" style={{ inlineSize: `${(takenShare - usedShare) * 100}%` }} />
    </div>
  )
}
