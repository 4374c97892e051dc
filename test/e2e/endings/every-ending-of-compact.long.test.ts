import { describeColumn } from './describe-column.ts'

describeColumn('compact')
