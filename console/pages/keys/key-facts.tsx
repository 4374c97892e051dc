import type { AnswerOf } from '../../../src/contract/console-api.ts'
import { useMessages } from '../../messages/MessagesProvider.tsx'
import { Badge, type BadgeTone } from '../../ui/layout.tsx'
import { Meter, MoneyText, Time, TimeText } from '../../ui/values.tsx'

export type OwnKey = AnswerOf<'GET /keys/:key'>
export type ListedKey = AnswerOf<'GET /keys'>['items'][number]
/** The fields that both have. */
export type KeyFacts = Omit<OwnKey, 'models'>
export type CreatedKey = AnswerOf<'POST /keys'>

/** Actions that open a dialog. */
export type KeyAction = 'edit' | 'rename' | 'rotate' | 'revoke'

export interface PickedAction {
  readonly action: KeyAction
  readonly key: KeyFacts
}

const STATES: Readonly<Record<KeyFacts['state'], BadgeTone>> = {
  active: 'good',
  disabled: 'held',
  expired: 'bad',
  revoked: 'plain',
}

export const KeyStateBadge = ({ state }: { state: KeyFacts['state'] }) => (
  <Badge tone={STATES[state]}>{useMessages().keys.states[state]}</Badge>
)

export function KeyBadges({ keyItem: { kind, playground } }: { keyItem: KeyFacts }) {
  const { keys } = useMessages()
  return (
    <span className="inline-flex flex-wrap gap-1.5">
      <Badge tone={kind === 'wallet' ? 'plain' : 'accent'}>{keys.kinds[kind]}</Badge>
      {playground && <Badge tone="held">{keys.playground}</Badge>}
    </span>
  )
}

type Caps = OwnKey['caps']
const NAMES = ['day', 'month'] as const

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
          message={keys.capOf}
          amounts={[cap.used, cap.limit]}
          className={as === 'short' ? 'figures text-xs text-soft' : 'figures'}
        />
      </span>
      <Meter label={label} used={cap.used} held={cap.held} limit={cap.limit} left={cap.left} />
      {as === 'long' && (
        <span className="text-xs text-faint">
          <TimeText message={keys.resets} at={cap.end} />{' '}
          <span className="text-faint">
            (<Time at={cap.end} />)
          </span>
        </span>
      )}
    </li>
  )
}
