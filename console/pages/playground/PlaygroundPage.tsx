import { useSearch } from '@tanstack/react-router'
import { Boxes } from 'lucide-react'
import { useModels } from '../../questions/useModels.ts'
import { Button } from '../../ui/Button.tsx'
import { Empty } from '../../ui/Empty.tsx'
import { Page } from '../../ui/Page.tsx'
import { PageHeader } from '../../ui/PageHeader.tsx'
import { Answer, Panel } from '../../ui/Panel.tsx'
import { useWords } from '../../words/WordsProvider.tsx'
import { Playground } from './Playground.tsx'
import { firstChoice, modelChoices } from './played-model.ts'

export function PlaygroundPage() {
  const { common, shell, playground } = useWords()
  const models = useModels()
  const { model: wanted } = useSearch({ strict: false }) as { model?: string }
  if (models.data === undefined || models.data.items.length === 0) {
    return (
      <Page>
        <PageHeader title={shell.areas.playground} about={playground.about} />
        <Panel>
          <Answer question={models} lines={6}>
            {() => (
              <Empty
                icon={Boxes}
                title={playground.noModels}
                text={playground.noModelsText}
                action={<Button onClick={() => void models.refetch()}>{common.retry}</Button>}
              />
            )}
          </Answer>
        </Panel>
      </Page>
    )
  }
  const choices = modelChoices(models.data.items)
  const first = firstChoice(choices, wanted)
  return <Playground key={wanted} choices={choices} first={first?.id ?? ''} firstKinds={first?.model.kinds ?? []} />
}
