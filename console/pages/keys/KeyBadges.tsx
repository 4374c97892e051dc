import { Badge, type BadgeTone } from '../../ui/Badge.tsx'
import { useMessages } from '../../messages/MessagesProvider.tsx'
import type { KeyFacts } from './own-key.ts'

const STATES: Readonly<Record<KeyFacts['state'], BadgeTone>> = {
  active: 'good',
  disabled: 'held',
  expired: 'bad',
  revoked: 'plain',
}

export const KeyStateBadge = ({ state }: { state: KeyFacts['state'] }) => (
  <Badge tone={STATES[state]}>{useMessages().keys.states[state]}</Badge>
)

/** What a key is: which kind, and whether it is the playground's. */
export function KeyBadges({ keyItem: { kind, playground } }: { keyItem: KeyFacts }) {
  const { keys } = useMessages()
  return (
    <span className="inline-flex flex-wrap gap-1.5">
      <Badge tone={kind === 'wallet' ? 'plain' : 'accent'}>{keys.kinds[kind]}</Badge>
      {playground && <Badge tone="held">{keys.playground}</Badge>}
    </span>
  )
}
