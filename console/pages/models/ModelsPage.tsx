import { useNavigate, useSearch } from '@tanstack/react-router'
import { Boxes, SearchX } from 'lucide-react'
import { useModels } from '../../queries/account.ts'
import { QueryView } from '../../ui/QueryView.tsx'
import { Button } from '../../ui/Button.tsx'
import { Empty } from '../../ui/Empty.tsx'
import { Page, PageHeader } from '../../ui/Page.tsx'
import { Panel } from '../../ui/Panel.tsx'
import { useMessages } from '../../messages/MessagesProvider.tsx'
import { findModels, type ModelFilter, readModelFilter, writeModelFilter } from './find-models.ts'
import { ModelFilters } from './ModelFilters.tsx'
import { ModelTable } from './ModelTable.tsx'

const ALL: ModelFilter = { text: '', kind: 'any', onlyAvailable: false }

export function ModelsPage() {
  const { shell, models } = useMessages()
  const query = useModels()
  const navigate = useNavigate()
  const filter = readModelFilter(useSearch({ strict: false }))
  const change = (next: ModelFilter) =>
    void navigate({ to: '/models', search: writeModelFilter(next), replace: true, resetScroll: false })
  return (
    <Page>
      <PageHeader title={shell.areas.models} about={models.about} />
      <QueryView query={query} lines={10}>
        {({ items }) => {
          const found = findModels(items, filter)
          if (items.length === 0) {
            return (
              <Panel>
                <Empty
                  icon={Boxes}
                  title={models.empty.title}
                  text={models.empty.text}
                  action={<Button onClick={() => void query.refetch()}>{models.empty.action}</Button>}
                />
              </Panel>
            )
          }
          return (
            <>
              <ModelFilters filter={filter} onChange={change} shown={found.length} all={items.length} />
              <Panel padding="flush">
                {found.length === 0 ? (
                  <Empty
                    icon={SearchX}
                    title={models.empty.filteredTitle}
                    text={models.empty.filteredText}
                    action={<Button onClick={() => change(ALL)}>{models.empty.clear}</Button>}
                  />
                ) : (
                  <ModelTable models={found} />
                )}
              </Panel>
            </>
          )
        }}
      </QueryView>
    </Page>
  )
}
