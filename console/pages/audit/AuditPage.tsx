import { useMessages } from '../../messages/MessagesProvider.tsx'
import { useAudit } from '../../queries/account.ts'
import { useOperatorAudit } from '../../queries/operate.ts'
import { Page, PageHeader } from '../../ui/layout.tsx'
import { AuditPanel } from './AuditPanel.tsx'

export function AuditPage() {
  const { shell, audit } = useMessages()
  const query = useAudit()
  return (
    <Page>
      <PageHeader title={shell.pageTitles.audit} about={audit.about} />
      <AuditPanel query={query} of="own" />
    </Page>
  )
}

export function OperatorAuditPage() {
  const { shell, audit } = useMessages()
  const query = useOperatorAudit()
  return (
    <Page>
      <PageHeader title={shell.pageTitles.auditAll} about={audit.aboutAll} />
      <AuditPanel query={query} of="all" />
    </Page>
  )
}
