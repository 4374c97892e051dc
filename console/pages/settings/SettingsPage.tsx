import { useMemo } from 'react'
import { chosenZone, LANGUAGES, prefer, THEMES, usePreferences } from '../../lib/preferences.ts'
import { choicesOf } from '../../ui/choices.ts'
import { Field } from '../../ui/Field.tsx'
import { Page, PageHeader } from '../../ui/Page.tsx'
import { Panel } from '../../ui/Panel.tsx'
import { ChoiceField } from '../../ui/Segmented.tsx'
import { Select } from '../../ui/Select.tsx'
import { Switch } from '../../ui/Switch.tsx'
import { useMessages } from '../../messages/MessagesProvider.tsx'
import { PasswordPanel } from './PasswordPanel.tsx'
import { SessionsPanel } from './SessionsPanel.tsx'

export function SettingsPage() {
  const { settings } = useMessages()
  return (
    <Page>
      <PageHeader title={settings.title} about={settings.about} />
      <LookPanel />
      <PasswordPanel />
      <SessionsPanel />
    </Page>
  )
}

/** What a person chooses for this browser; each choice takes effect at once. */
function LookPanel() {
  const { settings, shell } = useMessages()
  const { theme, language, zone, letterKeys } = usePreferences()
  const zones = useMemo(() => ['UTC', ...Intl.supportedValuesOf('timeZone').filter((each) => each !== 'UTC')], [])
  return (
    <Panel title={settings.look} about={settings.lookAbout}>
      <div className="grid gap-5 py-1 sm:grid-cols-2">
        <ChoiceField
          label={shell.theme}
          value={theme}
          options={choicesOf(THEMES, shell.themes)}
          onPick={(picked) => prefer({ theme: picked })}
        />
        <ChoiceField
          label={shell.language}
          value={language}
          options={choicesOf(LANGUAGES, shell.languages)}
          onPick={(picked) => prefer({ language: picked })}
        />
        <Field label={settings.zone} hint={settings.zoneHint}>
          {(control) => (
            <Select
              {...control}
              value={zone}
              options={[
                { value: 'auto', label: settings.zoneAuto(chosenZone('auto')) },
                ...zones.map((value) => ({ value, label: value.replaceAll('_', ' ') })),
              ]}
              onPick={(picked) => prefer({ zone: picked })}
            />
          )}
        </Field>
        <div className="content-start sm:pt-1">
          <Switch
            label={settings.letterKeys}
            hint={settings.letterKeysHint}
            on={letterKeys}
            onChange={(on) => prefer({ letterKeys: on })}
          />
        </div>
      </div>
    </Panel>
  )
}
