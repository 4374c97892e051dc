import { useAuditOfAll } from '../../questions/useAuditOfAll.ts'
import { Page } from '../../ui/Page.tsx'
import { PageHeader } from '../../ui/PageHeader.tsx'
import { useWords } from '../../words/WordsProvider.tsx'
import { AuditPanel } from './AuditPanel.tsx'

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
