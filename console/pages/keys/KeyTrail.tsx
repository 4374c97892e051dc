import { useAudit } from '../../questions/useAudit.ts'
import { useWords } from '../../words/WordsProvider.tsx'
import { AuditPanel } from '../audit/AuditPanel.tsx'

/** Who made this key, and what was done to it since. */
export function KeyTrail({ keyId }: { keyId: string }) {
  const { keys } = useWords()
  const question = useAudit(keyId)
  return <AuditPanel title={keys.trail} question={question} of="one" />
}
