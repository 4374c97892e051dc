import { useNavigate, useSearch } from '@tanstack/react-router'
import { Boxes } from 'lucide-react'
import { useModels } from '../../queries/account.ts'
import { useSession } from '../../queries/session.ts'
import { QueryView } from '../../ui/QueryView.tsx'
import { Button } from '../../ui/Button.tsx'
import { Empty } from '../../ui/Empty.tsx'
import { Page, PageHeader } from '../../ui/Page.tsx'
import { Panel } from '../../ui/Panel.tsx'
import { Tabs } from '../../ui/Tabs.tsx'
import { useMessages } from '../../messages/MessagesProvider.tsx'
import { ClientPanel } from './ClientPanel.tsx'
import { CLIENT_SNIPPETS, type ClientId, type Target } from './client-snippets.ts'
import { TargetFields } from './TargetFields.tsx'

/** Which program, which model and which kind of key: all of it is in the address, so that it can be sent to somebody. */
interface Wanted {
  readonly client?: string
  readonly model?: string
  readonly key?: string
}

const CLIENTS: readonly ClientId[] = ['curl', 'python', 'node', 'aiSdk', 'codex', 'opencode', 'agents']

export function ConnectPage() {
  const { common, shell, connect } = useMessages()
  const { session } = useSession()
  const models = useModels()
  const wanted = useSearch({ strict: false }) as Wanted
  const navigate = useNavigate()
  const want = (change: Wanted) => void navigate({ to: '/connect', search: { ...wanted, ...change }, replace: true })
  const kind = wanted.key === 'builder' ? 'builder' : 'wallet'
  const client = CLIENTS.find((id) => id === wanted.client) ?? 'curl'
  const callable = models.data?.items.filter(({ kinds }) => kinds.includes(kind)) ?? []
  const details =
    callable.find(({ id, variants }) => id === wanted.model || variants.includes(wanted.model ?? '')) ??
    callable.find(({ available }) => available) ??
    callable[0]
  const hasWanted = details?.id === wanted.model || details?.variants.includes(wanted.model ?? '')
  const target: Target | undefined = details && {
    baseUrl: session.base_url,
    model: hasWanted && wanted.model !== undefined ? wanted.model : details.id,
    details,
    kind,
  }
  return (
    <Page>
      <PageHeader title={shell.areas.connect} about={connect.about} />
      <Panel>
        <TargetFields
          baseUrl={session.base_url}
          models={callable}
          model={target?.model ?? ''}
          kind={kind}
          onModel={(model) => want({ model })}
          onKind={(key) => want({ key })}
        />
      </Panel>
      <Panel>
        <QueryView query={models} lines={8}>
          {() =>
            target === undefined ? (
              <Empty
                icon={Boxes}
                title={connect.noModels}
                text={connect.noModelsText}
                action={<Button onClick={() => void models.refetch()}>{common.retry}</Button>}
              />
            ) : (
              <Tabs
                label={connect.clients}
                value={client}
                onPick={(picked) => want({ client: picked })}
                tabs={CLIENTS.map((id) => ({
                  value: id,
                  label: connect.names[id],
                  content: <ClientPanel client={id} target={target} snippets={CLIENT_SNIPPETS[id](target)} />,
                }))}
              />
            )
          }
        </QueryView>
      </Panel>
    </Page>
  )
}
