import { Meter } from '../../ui/Meter.tsx'
import { MoneyText } from '../../ui/Money.tsx'
import { Time, TimeText } from '../../ui/Time.tsx'
import { useMessages } from '../../messages/MessagesProvider.tsx'
import type { OwnKey } from './own-key.ts'

type Caps = OwnKey['caps']
const NAMES = ['day', 'month'] as const

/** How the spend caps of a key stand: a bar each, short in a list. */
export function KeyCaps({ caps, as }: { caps: Caps; as: 'short' | 'long' }) {
  const { keys } = useMessages()
  if (caps.length === 0) return <span className="text-faint">{as === 'short' ? keys.noCaps : keys.capsEmpty}</span>
  return (
    <ul className={as === 'short' ? 'grid min-w-48 gap-1.5' : 'grid gap-5 sm:grid-cols-2'}>
      {caps.map((cap) => (
        <CapBar key={cap.name} cap={cap} as={as} />
      ))}
    </ul>
  )
}

function CapBar({ cap, as }: { cap: Caps[number]; as: 'short' | 'long' }) {
  const { keys } = useMessages()
  const name = NAMES.find((each) => each === cap.name)
  const label = name === undefined ? cap.name : keys.capNames[name]
  return (
    <li className="grid gap-1">
      <span className="flex flex-wrap justify-between gap-x-3 text-start">
        <span className={as === 'short' ? 'text-xs text-faint' : 'font-medium'}>{label}</span>
        <MoneyText
          say={keys.capOf}
          amounts={[cap.used, cap.limit]}
          className={as === 'short' ? 'figures text-xs text-soft' : 'figures'}
        />
      </span>
      <Meter label={label} used={cap.used} held={cap.held} limit={cap.limit} left={cap.left} />
      {as === 'long' && (
        <span className="text-xs text-faint">
          <TimeText say={keys.resets} at={cap.end} />{' '}
          <span className="text-faint">
            (<Time at={cap.end} />)
          </span>
        </span>
      )}
    </li>
  )
}
