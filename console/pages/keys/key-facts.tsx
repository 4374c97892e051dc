import type { AnswerOf } from '../../../src/contract/console-api.ts'
import { useMessages } from '../../messages/MessagesProvider.tsx'
import { Badge, type BadgeTone } from '../../ui/layout.tsx'

export type OwnKey = AnswerOf<'GET /keys/:key'>
export type ListedKey = AnswerOf<'GET /keys'>['items'][number]
/** The fields that both have. */
export type KeyFacts = Omit<OwnKey, 'models' | 'shared'>
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
