import type { Catalogue } from '../catalogue.ts'

export const charts: Catalogue['charts'] = {
  showTable: 'Als Tabelle zeigen',
  showChart: 'Als Diagramm zeigen',
  total: 'Summe',
  when: 'Wann',
  legend: 'Reihen',
  nothing: 'In diesem Zeitraum gibt es nichts zu zeichnen.',
  keys: 'Pfeiltasten führen von Punkt zu Punkt.',
}
