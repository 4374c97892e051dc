import type { AnswerOf } from '../../../src/contract/console-api.ts'
import { Badge, type BadgeTone } from '../../ui/Badge.tsx'
import { useWords } from '../../words/WordsProvider.tsx'

export type Account = AnswerOf<'GET /operate/accounts'>['items'][number]

const TONES: Readonly<Record<Account['status'], BadgeTone>> = { active: 'good', suspended: 'bad', closed: 'plain' }

export function StatusBadge({ status }: { status: Account['status'] }) {
  const { accounts } = useWords()
  return <Badge tone={TONES[status]}>{accounts.states[status]}</Badge>
}
