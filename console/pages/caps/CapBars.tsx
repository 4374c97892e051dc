import { isQuota } from '../../lib/cap-kinds.ts'
import { useFormats, useMessages } from '../../messages/MessagesProvider.tsx'
import { Badge } from '../../ui/layout.tsx'
import { Meter, MoneyText, Time, TimeText } from '../../ui/values.tsx'
import type { CapField, CapStatus } from '../cap-forms/cap-draft.ts'

interface CapBarsProps {
  readonly caps: readonly CapStatus[]
  /** `pairs`: two beside each other, where there is room. */
  readonly as: 'short' | 'pairs' | 'long'
  /** What is shown without any cap. */
  readonly none: string
  /** Says whose cap each is: of the key, its person or its team. */
  readonly withHolders?: boolean
}

/** How much of each cap is used in its running period. */
export function CapBars({ caps, as, none, withHolders = false }: CapBarsProps) {
  if (caps.length === 0) return <span className="text-faint">{none}</span>
  return (
    <ul className={LISTS[as]}>
      {caps.map((cap) => (
        <CapBar
          key={`${cap.holder} ${cap.name}`}
          cap={cap}
          as={as === 'long' ? 'long' : 'short'}
          withHolder={withHolders}
        />
      ))}
    </ul>
  )
}

const LISTS = {
  short: 'grid max-w-64 gap-1.5 sm:min-w-44',
  pairs: 'grid gap-x-5 gap-y-1.5 sm:min-w-44 lg:min-w-96 lg:grid-cols-2',
  long: 'grid gap-x-8 gap-y-5 sm:grid-cols-2',
} as const

function CapBar({ cap, as, withHolder }: { cap: CapStatus; as: 'short' | 'long'; withHolder: boolean }) {
  const { caps } = useMessages()
  const formats = useFormats()
  const { name, holder, used, held, limit, left, end, raised_until } = cap
  const label = caps.names[name as CapField] ?? name
  const figures = as === 'short' ? 'figures text-xs text-soft' : 'figures'
  return (
    <li className="grid content-start gap-1">
      <span className="flex flex-wrap justify-between gap-x-3 text-start">
        <span className={as === 'short' ? 'text-xs text-faint' : 'flex flex-wrap items-center gap-2 font-medium'}>
          {label}
          {withHolder && <Badge>{caps.holders[holder]}</Badge>}
          {as === 'long' && raised_until !== null && <Badge tone="held">{caps.raised}</Badge>}
        </span>
        {isQuota(name) ? (
          <span className={figures}>{caps.of(formats.short(Number(used)), formats.short(Number(limit)))}</span>
        ) : (
          <MoneyText message={caps.of} amounts={[used, limit]} className={figures} />
        )}
      </span>
      <Meter label={label} used={used} held={held} limit={limit} left={left} as={isQuota(name) ? 'count' : 'money'} />
      {as === 'long' && (
        <span className="flex flex-wrap justify-between gap-x-3 text-xs text-faint">
          <span>
            {isQuota(name) ? (
              caps.left(formats.count(Number(left)))
            ) : (
              <MoneyText message={caps.left} amounts={[left]} />
            )}
          </span>
          <span>{end === null ? caps.never : <TimeText message={caps.resets} at={end} as="relative" />}</span>
        </span>
      )}
      {as === 'long' && raised_until !== null && (
        <span className="text-xs text-held">
          {caps.raisedUntil} <Time at={raised_until} as="time" />
        </span>
      )}
    </li>
  )
}
