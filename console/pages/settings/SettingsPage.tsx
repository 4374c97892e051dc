import { useMemo, useState } from 'react'
import type { AnswerOf } from '../../../src/contract/console-api.ts'
import { chosenZone, LANGUAGES, prefer, THEMES, usePreferences } from '../../lib/preferences.ts'
import { useMessages } from '../../messages/MessagesProvider.tsx'
import { useApiMutation } from '../../queries/mutations.ts'
import { useSession, useSessions } from '../../queries/session.ts'
import { Button } from '../../ui/Button.tsx'
import { type Column, DataTable } from '../../ui/DataTable.tsx'
import { Field, Form, TextField } from '../../ui/Form.tsx'
import { ChoiceField, choicesOf, PasswordInput, Select, Switch } from '../../ui/inputs.tsx'
import { Badge, Page, PageHeader, Panel } from '../../ui/layout.tsx'
import { NewPasswordField } from '../../ui/NewPasswordField.tsx'
import { ProblemNote, QueryView } from '../../ui/QueryView.tsx'
import { Time } from '../../ui/values.tsx'
import { FactorPanels } from './FactorPanels.tsx'

export function SettingsPage() {
  const { settings } = useMessages()
  return (
    <Page>
      <PageHeader title={settings.title} about={settings.about} />
      <LookPanel />
      <PasswordPanel />
      <FactorPanels />
      <SessionsPanel />
    </Page>
  )
}

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

function PasswordPanel() {
  const { settings, common } = useMessages()
  const { person, session } = useSession()
  const needsCode = session.factors?.code === true
  const [code, setCode] = useState('')
  const [current, setCurrent] = useState('')
  const [next, setNext] = useState('')
  const change = useApiMutation('PUT /password', {
    done: settings.changed,
    problem: 'shown-here',
    onDone: () => {
      setCurrent('')
      setNext('')
      setCode('')
    },
  })
  const send = () => {
    change.mutate({ body: { current, next, ...(needsCode && { code: code.trim() }) } })
  }
  const { error } = change
  const isWrong = error?.code === 'wrong_password'
  return (
    <Panel title={settings.password} about={settings.passwordAbout}>
      <Form className="grid gap-4 py-1 sm:grid-cols-2" onSend={send}>
        <input type="hidden" name="username" autoComplete="username" value={person.email} />
        <TextField
          as={PasswordInput}
          label={settings.current}
          error={isWrong ? settings.wrong : undefined}
          autoComplete="current-password"
          required
          value={current}
          onText={setCurrent}
        />
        <NewPasswordField value={next} onText={setNext} />
        {needsCode && (
          <TextField
            label={common.code}
            hint={common.codeHint}
            required
            autoComplete="one-time-code"
            spellCheck={false}
            value={code}
            onText={setCode}
          />
        )}
        {error !== null && !isWrong && (
          <div className="sm:col-span-2">
            <ProblemNote error={error} />
          </div>
        )}
        <div className="sm:col-span-2">
          <Button tone="primary" type="submit" busy={change.isPending}>
            {settings.change}
          </Button>
        </div>
      </Form>
    </Panel>
  )
}

type Session = AnswerOf<'GET /sessions'>['items'][number]

function SessionsPanel() {
  const { settings } = useMessages()
  const sessions = useSessions()
  const columns = useColumns()
  return (
    <Panel title={settings.sessions} about={settings.sessionsAbout} padding="flush">
      <QueryView query={sessions}>
        {({ items }) => (
          <DataTable caption={settings.sessions} columns={columns} rows={items} rowId={(session) => session.id} />
        )}
      </QueryView>
    </Panel>
  )
}

function useColumns(): Column<Session>[] {
  const { settings, common } = useMessages()
  const end = useApiMutation('DELETE /sessions/:session', { done: settings.ended })
  const nameOf = ({ agent }: Session) => {
    const { browser, system } = agentName(agent)
    if (browser === undefined) return settings.unknownAgent
    return system === undefined ? browser : settings.agentOn(browser, system)
  }
  return [
    {
      id: 'agent',
      header: settings.browser,
      narrow: 'title',
      cell: (session) => <span title={session.agent}>{nameOf(session)}</span>,
    },
    { id: 'means', header: settings.means, cell: ({ means }) => settings.meansNames[means] },
    { id: 'address', header: settings.address, cell: ({ address }) => <code>{address}</code> },
    { id: 'since', header: settings.since, cell: ({ created_at }) => <Time at={created_at} /> },
    { id: 'seen', header: settings.seen, cell: ({ seen_at }) => <Time at={seen_at} /> },
    {
      id: 'end',
      header: common.actions,
      quiet: true,
      align: 'end',
      narrow: 'corner',
      cell: (session) =>
        session.current ? (
          <Badge tone="good">{settings.thisOne}</Badge>
        ) : (
          <Button
            aria-label={settings.endThis(nameOf(session))}
            busy={end.isPending && end.variables.params.session === session.id}
            onClick={() => end.mutate({ params: { session: session.id } })}
          >
            {settings.end}
          </Button>
        ),
    },
  ]
}

/** The order matters: most browsers claim to be others too. */
const BROWSERS = [
  [/Edg(e|A|iOS)?\//, 'Edge'],
  [/OPR\//, 'Opera'],
  [/Firefox\/|FxiOS\//, 'Firefox'],
  [/Chrome\/|CriOS\/|Chromium\//, 'Chrome'],
  [/Safari\//, 'Safari'],
  [/curl\//, 'curl'],
] as const

const SYSTEMS = [
  [/Android/, 'Android'],
  [/iPhone|iPad/, 'iOS'],
  [/Windows/, 'Windows'],
  [/Mac OS X|Macintosh/, 'macOS'],
  [/CrOS/, 'ChromeOS'],
  [/Linux|X11/, 'Linux'],
] as const

/** Browser and system names from the user agent. */
function agentName(agent: string): { browser: string | undefined; system: string | undefined } {
  const nameIn = (names: readonly (readonly [RegExp, string])[]) => names.find(([pattern]) => pattern.test(agent))?.[1]
  return { browser: nameIn(BROWSERS), system: nameIn(SYSTEMS) }
}
