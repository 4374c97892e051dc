import type { AnswerOf } from '../../../src/contract/console-api.ts'
import { useNow } from '../../lib/clock.ts'
import { useFormats, useMessages } from '../../messages/MessagesProvider.tsx'
import { useSystem } from '../../queries/operate.ts'
import { useSession } from '../../queries/session.ts'
import { Badge, Facts, Page, PageHeader, Panel, StatTile } from '../../ui/layout.tsx'
import { QueryView } from '../../ui/QueryView.tsx'
import { Time } from '../../ui/values.tsx'

type System = AnswerOf<'GET /operate/system'>

export function SystemPage() {
  const { shell } = useMessages()
  const { system } = useMessages().operator
  const query = useSystem()
  return (
    <Page>
      <PageHeader title={shell.pageTitles.system} about={system.about} />
      <QueryView query={query} lines={6}>
        {(answer) => (
          <>
            <SystemTiles system={answer} />
            <Machine system={answer} />
          </>
        )}
      </QueryView>
    </Page>
  )
}

function SystemTiles({ system: answer }: { system: System }) {
  const { system } = useMessages().operator
  const formats = useFormats()
  const now = useNow(10_000)
  return (
    <div className="grid grid-cols-2 gap-3 md:grid-cols-5">
      <StatTile
        label={system.ledger}
        value={
          <Badge tone={answer.ledger_available ? 'good' : 'bad'}>
            {answer.ledger_available ? system.ledgerGood : system.ledgerBad}
          </Badge>
        }
        note={answer.ledger_available ? undefined : system.ledgerBadText}
      />
      <StatTile label={system.running} value={formats.count(answer.requests_running)} />
      <StatTile label={system.served} value={formats.count(answer.requests_served)} note={system.servedNote} />
      <StatTile label={system.console} value={formats.count(answer.console_requests)} note={system.consoleNote} />
      <StatTile
        label={system.up}
        value={formats.duration(Math.max(0, now - Date.parse(answer.started_at)))}
        note={
          <>
            {system.started} <Time at={answer.started_at} as="day" />
          </>
        }
      />
    </div>
  )
}

function Machine({ system: answer }: { system: System }) {
  const { system } = useMessages().operator
  const { session } = useSession()
  const code = (text: string) => <code className="break-all">{text}</code>
  return (
    <Panel title={system.facts}>
      <div className="max-w-2xl">
        <Facts
          facts={[
            { name: system.version, value: answer.version },
            { name: system.node, value: answer.node },
            { name: system.driver, value: answer.driver },
            { name: system.data, value: code(answer.data) },
            { name: system.config, value: code(answer.config) },
            { name: system.baseUrl, value: code(session.base_url) },
          ]}
        />
      </div>
    </Panel>
  )
}
