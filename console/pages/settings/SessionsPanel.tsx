import type { AnswerOf } from '../../../src/contract/console-api.ts'
import { useApiMutation } from '../../queries/mutations.ts'
import { useSessions } from '../../queries/session.ts'
import { QueryView } from '../../ui/QueryView.tsx'
import { Badge } from '../../ui/Badge.tsx'
import { Button } from '../../ui/Button.tsx'
import { type Column, DataTable } from '../../ui/DataTable.tsx'
import { Panel } from '../../ui/Panel.tsx'
import { Time } from '../../ui/Time.tsx'
import { useMessages } from '../../messages/MessagesProvider.tsx'

type Session = AnswerOf<'GET /sessions'>['items'][number]

/** Where somebody is signed in, and the end of whichever they do not know. */
export function SessionsPanel() {
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

/** What a person calls a browser, as far as its own long name tells. */
function agentName(agent: string): { browser: string | undefined; system: string | undefined } {
  const nameIn = (names: readonly (readonly [RegExp, string])[]) => names.find(([pattern]) => pattern.test(agent))?.[1]
  return { browser: nameIn(BROWSERS), system: nameIn(SYSTEMS) }
}
