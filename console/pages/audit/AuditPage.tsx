import { useAudit } from '../../questions/useAudit.ts'
import { Page } from '../../ui/Page.tsx'
import { PageHeader } from '../../ui/PageHeader.tsx'
import { useWords } from '../../words/WordsProvider.tsx'
import { AuditPanel } from './AuditPanel.tsx'

/** What happened to one's own account, and who did it. */
export function AuditPage() {
  const { shell, audit } = useWords()
  const question = useAudit()
  return (
    <Page>
      <PageHeader title={shell.areas.audit} about={audit.about} />
      <AuditPanel question={question} of="own" />
    </Page>
  )
}
