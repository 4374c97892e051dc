import { useAudit } from '../../questions/account.ts'
import { useAuditOfAll } from '../../questions/operate.ts'
import { Page, PageHeader } from '../../ui/Page.tsx'
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

/** For operators: what happened on this server. */
export function AuditAllPage() {
  const { shell, audit } = useWords()
  const question = useAuditOfAll()
  return (
    <Page>
      <PageHeader title={shell.areas.auditAll} about={audit.aboutAll} />
      <AuditPanel question={question} of="all" />
    </Page>
  )
}
