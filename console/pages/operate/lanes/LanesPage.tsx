import { useNavigate, useSearch } from '@tanstack/react-router'
import { CircleCheck, SearchX, Waypoints } from 'lucide-react'
import { useLanes } from '../../../questions/operate.ts'
import { Answer } from '../../../ui/Answer.tsx'
import { choicesOf } from '../../../ui/choices.ts'
import { Empty } from '../../../ui/Empty.tsx'
import { Page, PageHeader } from '../../../ui/Page.tsx'
import { Panel } from '../../../ui/Panel.tsx'
import { SearchInput } from '../../../ui/SearchInput.tsx'
import { Segmented } from '../../../ui/Segmented.tsx'
import { useWords } from '../../../words/WordsProvider.tsx'
import { findModels, type OperatorModel } from './find-models.ts'
import { ModelLanes } from './ModelLanes.tsx'

const SHOWN = ['all', 'trouble'] as const

/** Every model with its lanes as they stand now; asked again every few seconds while somebody looks. */
export function LanesPage() {
  const { shell, lanes } = useWords()
  const question = useLanes()
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
      {question.data === undefined || question.error !== null ? (
        <Panel>
          <Answer question={question} lines={8}>
            {() => null}
          </Answer>
        </Panel>
      ) : null}
      {question.data !== undefined && (
        <Models
          all={question.data.items}
          shown={findModels(question.data.items, { search, trouble: only === 'trouble' })}
          asOf={question.dataUpdatedAt}
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
  const { lanes } = useWords()
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
