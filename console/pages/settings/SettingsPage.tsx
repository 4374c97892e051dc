import { Page } from '../../ui/Page.tsx'
import { PageHeader } from '../../ui/PageHeader.tsx'
import { useWords } from '../../words/WordsProvider.tsx'
import { LookPanel } from './LookPanel.tsx'
import { PasswordPanel } from './PasswordPanel.tsx'
import { SessionsPanel } from './SessionsPanel.tsx'

export function SettingsPage() {
  const { settings } = useWords()
  return (
    <Page>
      <PageHeader title={settings.title} about={settings.about} />
      <LookPanel />
      <PasswordPanel />
      <SessionsPanel />
    </Page>
  )
}
