import { useNavigate, useSearch } from '@tanstack/react-router'
import { CircleCheck, SearchX, Waypoints } from 'lucide-react'
import { useLanes } from '../../../queries/operate.ts'
import { QueryView } from '../../../ui/QueryView.tsx'
import { choicesOf } from '../../../ui/choices.ts'
import { Empty } from '../../../ui/Empty.tsx'
import { Page, PageHeader } from '../../../ui/Page.tsx'
import { Panel } from '../../../ui/Panel.tsx'
import { SearchInput } from '../../../ui/SearchInput.tsx'
import { Segmented } from '../../../ui/Segmented.tsx'
import { useMessages } from '../../../messages/MessagesProvider.tsx'
import { findModels, type OperatorModel } from './find-models.ts'
import { ModelLanes } from './ModelLanes.tsx'

const SHOWN = ['all', 'trouble'] as const

/** Every model with its lanes as they stand now; asked again every few seconds while somebody looks. */
export function LanesPage() {
  const { shell, lanes } = useMessages()
  const query = useLanes()
  const { search = '', show } = useSearch({ strict: false }) as { search?: string; show?: string }
  const navigate = useNavigate()
  const only = show === 'trouble' ? 'trouble' : 'all'
  const want = (change: object) =>
    void navigate({ to: '/operate/lanes', search: { search, show: only, ...change }, replace: true })
  return (
    <Page>
      <PageHeader title={shell.areas.lanes} about={lanes.about} />
      <div className="flex flex-wrap items-center gap-3">
        <SearchInput
          label={lanes.search}
          className="max-w-sm flex-1"
          value={search}
          onText={(text) => want({ search: text })}
        />
        <Segmented
          label={lanes.show}
          value={only}
          options={choicesOf(SHOWN, lanes.filters)}
          onPick={(value) => want({ show: value === 'all' ? undefined : value })}
        />
      </div>
      {query.data === undefined || query.error !== null ? (
        <Panel>
          <QueryView query={query} lines={8}>
            {() => null}
          </QueryView>
        </Panel>
      ) : null}
      {query.data !== undefined && (
        <Models
          all={query.data.items}
          shown={findModels(query.data.items, { search, trouble: only === 'trouble' })}
          asOf={query.dataUpdatedAt}
          searching={search !== ''}
        />
      )}
    </Page>
  )
}

interface ModelsProps {
  readonly all: readonly OperatorModel[]
  readonly shown: readonly OperatorModel[]
  readonly asOf: number
  readonly searching: boolean
}

function Models({ all, shown, asOf, searching }: ModelsProps) {
  const { lanes } = useMessages()
  if (shown.length > 0) return shown.map((model) => <ModelLanes key={model.id} model={model} asOf={asOf} />)
  return (
    <Panel>
      {all.length === 0 ? (
        <Empty icon={Waypoints} title={lanes.none} text={lanes.noneText} />
      ) : searching ? (
        <Empty icon={SearchX} title={lanes.noneFound} text={lanes.noneFoundText} />
      ) : (
        <Empty icon={CircleCheck} title={lanes.noTrouble} text={lanes.noTroubleText} />
      )}
    </Panel>
  )
}
