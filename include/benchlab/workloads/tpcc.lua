-- TPC-C as a script for sysbench 1.0.20, for machines that have no go-tpc:
--
--    sysbench tpcc.lua --warehouses=W --threads=N [--time=S --report-interval=I] prepare|run
--
-- `prepare` fills an empty database. `run` prints what go-tpc prints. An error that
-- --mysql-ignore-errors names is counted; any other ends the run at once, with an exit code other
-- than 0 and without a summary.
--
-- Clauses are those of TPC-C, revision 5.11. Tables, statements, mix and output are go-tpc's, and
-- there are no keying and think times either. What differs is nearer to the standard:
--   * a line's stock is that of its supplying warehouse (2.4.2.2), not always of the home one;
--   * OL_AMOUNT is quantity times price (2.4.2.2), without taxes and discount;
--   * the constants of NURand (2.1.6.1) are fixed: go-tpc draws them anew in every process, and
--     then the last names that are loaded and asked for may be any distance apart.

local ffi = require("ffi")
local bit = require("bit")

local VERSION = "benchlab tpcc.lua 1"

-- 1.2.1
local ITEMS, DISTRICTS, CUSTOMERS, ORDERS = 100000, 10, 3000, 3000
local DELIVERED_ORDERS = 2100 -- of a district's (4.3.3.1)
local WAREHOUSE_TPMC = 12.86 -- the most that a warehouse does where people key and think (4.1)
local ROWS_PER_INSERT = 1000

sysbench.cmdline.options = {warehouses = {"Number of warehouses to load, or that were loaded", 1}}

-- ---- What all threads share ---------------------------------------------------------------------

-- Each thread has a Lua state of its own, and so have the reports. They share plain memory: every
-- worker writes into its own slot, so that no lock is needed, and the reports only read there.
-- Times are milliseconds.
ffi.cdef [[
typedef struct { double count, sum, max; uint32_t buckets[960]; } tpcc_operation;
typedef struct { double began, ended; tpcc_operation operations[10]; } tpcc_slot;
typedef struct {
   int tables_created;
   double reported_at;
   tpcc_operation reported[10];
   tpcc_slot *slots;
} tpcc_shared;
typedef struct { long seconds, nanoseconds; } tpcc_time;

int getpid(void);
void *calloc(size_t number, size_t size);
int setenv(const char *name, const char *value, int overwrite);
int usleep(unsigned microseconds);
int clock_gettime(int clock, tpcc_time *time);
int pthread_setcancelstate(int state, int *before);
void _exit(int status);
]]

local CLOCK_MONOTONIC, PTHREAD_CANCEL_DISABLE = 1, 1

local function allocate(type_name, number)
   local memory = ffi.C.calloc(number, ffi.sizeof(type_name))
   assert(memory ~= nil, "out of memory")
   return ffi.cast(type_name .. " *", memory)
end

-- The main state loads this script before there are any threads, and leaves the address in the
-- environment. The name holds the process's number: a parent may have left its own.
local function shared_memory()
   local variable = "BENCHLAB_TPCC_" .. ffi.C.getpid()
   if os.getenv(variable) == nil then
      local address = ffi.cast("uintptr_t", allocate("tpcc_shared", 1))
      ffi.C.setenv(variable, ("%.0f"):format(tonumber(address)), 1)
   end
   return ffi.cast("tpcc_shared *", ffi.cast("uintptr_t", tonumber(os.getenv(variable))))
end

local shared = shared_memory()
local clock = ffi.new("tpcc_time")

local function now_ms()
   ffi.C.clock_gettime(CLOCK_MONOTONIC, clock)
   return tonumber(clock.seconds) * 1e3 + tonumber(clock.nanoseconds) / 1e6
end

local function time_stamp()
   return os.date("%Y-%m-%d %H:%M:%S")
end

-- In one piece: sysbench does not buffer its output, and threads write at the same time.
local function say(text)
   io.stdout:write(text .. "\n")
end

-- Ends the process at once: other threads may wait for a lost server, or for a lock, for minutes.
local function die(text)
   say(text)
   ffi.C._exit(1)
end

-- ---- Random values ------------------------------------------------------------------------------

local uniform = sysbench.rand.uniform -- both bounds included

local C_LAST_LOAD, C_LAST_RUN = 111, 199 -- 65 to 119 apart, and neither 96 nor 112 (2.1.6.1)
local C_CUSTOMER, C_ITEM = 259, 7911
local SYLLABLES = {"BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"}

-- NURand (2.1.6)
local function skewed(a, c, low, high)
   return (bit.bor(uniform(0, a), uniform(low, high)) + c) % (high - low + 1) + low
end

local function random_customer()
   return skewed(1023, C_CUSTOMER, 1, CUSTOMERS)
end

-- 4.3.2.3
local function last_name(number)
   return SYLLABLES[math.floor(number / 100) + 1] ..
      SYLLABLES[math.floor(number / 10) % 10 + 1] .. SYLLABLES[number % 10 + 1]
end

local function random_last_name(c)
   return last_name(skewed(255, c, 0, 999))
end

local function other_warehouse(home, warehouses)
   if warehouses == 1 then
      return home
   end
   local other = uniform(1, warehouses - 1)
   return other < home and other or other + 1
end

-- ---- The connection -----------------------------------------------------------------------------

local driver, connection

local function connect()
   driver = sysbench.sql.driver()
   local connected, found = pcall(driver.connect, driver)
   if not connected then
      error("no connection to the server; sysbench says above why", 0)
   end
   connection = found
end

-- The error of the last statement, as go-tpc writes it; nil if it had none.
local function server_error()
   if connection and connection.sql_errno ~= 0 and connection.sql_errmsg ~= nil then
      return ("Error %d: %s"):format(connection.sql_errno, ffi.string(connection.sql_errmsg))
   end
end

-- Statements are text: sysbench 1.0.20 cannot fetch the rows of a prepared one. Nothing needs
-- quoting in them, for the database's strings are made of letters, digits and `| $ . : -`.
local function query(text, ...)
   return connection:query(text:format(...))
end

-- The next row of a result that has one more; `field` reads it, and counts from 0.
local function fetch(result)
   return ffi.C.db_fetch_row(result).values
end

local function field(row, index)
   return ffi.string(row[index].ptr, row[index].len)
end

local function number(row, index)
   return tonumber(field(row, index))
end

-- A result with one row at least.
local function rows_of(text, ...)
   local result = query(text, ...)
   if result == nil or result.nrows == 0 then
      error("a row is missing in the database: no result for " .. text:format(...), 0)
   end
   return result
end

local function one_row(text, ...)
   return fetch(rows_of(text, ...))
end

-- That in the middle, n / 2 rounded up.
local function middle_row(text, ...)
   local result = rows_of(text, ...)
   for _ = 2, math.ceil(result.nrows / 2) do
      fetch(result)
   end
   return fetch(result)
end

local function checked_warehouses()
   if sysbench.opt.warehouses < 1 then
      error(("--warehouses is %d: it must be at least 1"):format(sysbench.opt.warehouses), 0)
   end
   return sysbench.opt.warehouses
end

-- ---- prepare ------------------------------------------------------------------------------------

-- go-tpc's tables. TiDB reads what is in the comments.
local TABLES = {
   warehouse = [[w_id INT NOT NULL, w_name VARCHAR(10), w_street_1 VARCHAR(20),
      w_street_2 VARCHAR(20), w_city VARCHAR(20), w_state CHAR(2), w_zip CHAR(9),
      w_tax DECIMAL(4, 4), w_ytd DECIMAL(12, 2),
      PRIMARY KEY (w_id) /*T![clustered_index] CLUSTERED */]],
   district = [[d_id INT NOT NULL, d_w_id INT NOT NULL, d_name VARCHAR(10),
      d_street_1 VARCHAR(20), d_street_2 VARCHAR(20), d_city VARCHAR(20), d_state CHAR(2),
      d_zip CHAR(9), d_tax DECIMAL(4, 4), d_ytd DECIMAL(12, 2), d_next_o_id INT,
      PRIMARY KEY (d_w_id, d_id) /*T![clustered_index] CLUSTERED */]],
   customer = [[c_id INT NOT NULL, c_d_id INT NOT NULL, c_w_id INT NOT NULL,
      c_first VARCHAR(16), c_middle CHAR(2), c_last VARCHAR(16), c_street_1 VARCHAR(20),
      c_street_2 VARCHAR(20), c_city VARCHAR(20), c_state CHAR(2), c_zip CHAR(9),
      c_phone CHAR(16), c_since DATETIME, c_credit CHAR(2), c_credit_lim DECIMAL(12, 2),
      c_discount DECIMAL(4, 4), c_balance DECIMAL(12, 2), c_ytd_payment DECIMAL(12, 2),
      c_payment_cnt INT, c_delivery_cnt INT, c_data VARCHAR(500),
      PRIMARY KEY (c_w_id, c_d_id, c_id) /*T![clustered_index] CLUSTERED */,
      INDEX idx_customer (c_w_id, c_d_id, c_last, c_first)]],
   history = [[h_c_id INT NOT NULL, h_c_d_id INT NOT NULL, h_c_w_id INT NOT NULL,
      h_d_id INT NOT NULL, h_w_id INT NOT NULL, h_date DATETIME, h_amount DECIMAL(6, 2),
      h_data VARCHAR(24), INDEX idx_h_w_id (h_w_id), INDEX idx_h_c_w_id (h_c_w_id)]],
   new_order = [[no_o_id INT NOT NULL, no_d_id INT NOT NULL, no_w_id INT NOT NULL,
      PRIMARY KEY (no_w_id, no_d_id, no_o_id) /*T![clustered_index] CLUSTERED */]],
   orders = [[o_id INT NOT NULL, o_d_id INT NOT NULL, o_w_id INT NOT NULL, o_c_id INT,
      o_entry_d DATETIME, o_carrier_id INT, o_ol_cnt INT, o_all_local INT,
      PRIMARY KEY (o_w_id, o_d_id, o_id) /*T![clustered_index] CLUSTERED */,
      INDEX idx_order (o_w_id, o_d_id, o_c_id, o_id)]],
   order_line = [[ol_o_id INT NOT NULL, ol_d_id INT NOT NULL, ol_w_id INT NOT NULL,
      ol_number INT NOT NULL, ol_i_id INT NOT NULL, ol_supply_w_id INT, ol_delivery_d DATETIME,
      ol_quantity INT, ol_amount DECIMAL(6, 2), ol_dist_info CHAR(24),
      PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number) /*T![clustered_index] CLUSTERED */]],
   stock = [[s_i_id INT NOT NULL, s_w_id INT NOT NULL, s_quantity INT, s_dist_01 CHAR(24),
      s_dist_02 CHAR(24), s_dist_03 CHAR(24), s_dist_04 CHAR(24), s_dist_05 CHAR(24),
      s_dist_06 CHAR(24), s_dist_07 CHAR(24), s_dist_08 CHAR(24), s_dist_09 CHAR(24),
      s_dist_10 CHAR(24), s_ytd INT, s_order_cnt INT, s_remote_cnt INT, s_data VARCHAR(50),
      PRIMARY KEY (s_w_id, s_i_id) /*T![clustered_index] CLUSTERED */]],
   item = [[i_id INT NOT NULL, i_im_id INT, i_name VARCHAR(24), i_price DECIMAL(5, 2),
      i_data VARCHAR(50), PRIMARY KEY (i_id) /*T![clustered_index] CLUSTERED */]],
}

-- All pairs of characters of an alphabet, as often as 12 bits can name one. Ten warehouses have
-- nearly a gigabyte of random characters: two at a time, so that the load waits for the server.
local function pairs_of(alphabet)
   local found = ffi.new("char[?]", 2 * 4096)
   for pair = 0, 4095 do
      found[2 * pair] = alphabet:byte(pair % #alphabet + 1)
      found[2 * pair + 1] = alphabet:byte(math.floor(pair / #alphabet) % #alphabet + 1)
   end
   return found
end

local LETTERS, DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "1234567890"
local alphanumeric = pairs_of(LETTERS:lower() .. LETTERS .. DIGITS)
local letters, digits = pairs_of(LETTERS), pairs_of(DIGITS)
local characters = ffi.new("char[512]")

-- A string of `low` to `high` characters (4.3.2.2).
local function text(low, high, alphabet)
   local size, random, left = uniform(low, high), 0ULL, 0
   for position = 0, size - 1, 2 do
      if left == 0 then
         random, left = ffi.C.sb_rand_uniform_uint64(), 5
      end
      ffi.copy(characters + position,
         (alphabet or alphanumeric) + 2 * tonumber(bit.band(random, 4095ULL)), 2)
      random, left = bit.rshift(random, 12), left - 1
   end
   return ffi.string(characters, size)
end

-- A tenth of the rows holds the word somewhere (4.3.3.1).
local function data()
   local found = text(26, 50)
   if uniform(1, 10) > 1 then
      return found
   end
   local start = uniform(1, #found - 7)
   return found:sub(1, start - 1) .. "ORIGINAL" .. found:sub(start + 8)
end

-- Two streets, city, state, postal code (4.3.2.7).
local function address()
   return ("'%s','%s','%s','%s','%s11111'"):format(
      text(10, 20), text(10, 20), text(10, 20), text(2, 2, letters), text(4, 4, digits))
end

local function tax()
   return uniform(0, 2000) / 10000
end

-- Two functions: one adds a row, with its values in the order of the columns, the other sends the
-- last ones.
local function inserter(table_name)
   local rows, count = {}, 0
   local function send()
      if count > 0 then
         connection:query(
            "INSERT INTO " .. table_name .. " VALUES " .. table.concat(rows, ",", 1, count))
      end
      count = 0
   end
   local function add(pattern, ...)
      count = count + 1
      rows[count] = pattern:format(...)
      if count == ROWS_PER_INSERT then
         send()
      end
   end
   return add, send
end

local function load_items()
   local add, send = inserter("item")
   for item = 1, ITEMS do
      add("(%d,%d,'%s',%.2f,'%s')",
         item, uniform(1, 10000), text(14, 24), uniform(100, 10000) / 100, data())
   end
   send()
end

local function load_warehouse(warehouse)
   query("INSERT INTO warehouse VALUES (%d,'%s',%s,%.4f,300000.00)",
      warehouse, text(6, 10), address(), tax())
   local add, send = inserter("district")
   for district = 1, DISTRICTS do
      add("(%d,%d,'%s',%s,%.4f,30000.00,%d)",
         district, warehouse, text(6, 10), address(), tax(), ORDERS + 1)
   end
   send()
   add, send = inserter("stock")
   for item = 1, ITEMS do
      add("(%d,%d,%d,'%s','%s','%s','%s','%s','%s','%s','%s','%s','%s',0,0,0,'%s')",
         item, warehouse, uniform(10, 100), text(24, 24), text(24, 24), text(24, 24),
         text(24, 24), text(24, 24), text(24, 24), text(24, 24), text(24, 24), text(24, 24),
         text(24, 24), data())
   end
   send()
end

local function load_customers(warehouse, district, loaded_at)
   local add_customer, send_customers = inserter("customer")
   local add_history, send_history = inserter("history")
   for customer = 1, CUSTOMERS do
      -- Every name is there once at least (4.3.3.1).
      local name = customer <= 1000 and last_name(customer - 1) or random_last_name(C_LAST_LOAD)
      add_customer("(%d,%d,%d,'%s','OE','%s',%s,'%s','%s','%s',50000,%.4f,-10.00,10.00,1,0,'%s')",
         customer, district, warehouse, text(8, 16), name, address(), text(16, 16, digits),
         loaded_at, uniform(1, 10) == 1 and "BC" or "GC", uniform(0, 5000) / 10000, text(300, 500))
      add_history("(%d,%d,%d,%d,%d,'%s',10.00,'%s')",
         customer, district, warehouse, district, warehouse, loaded_at, text(12, 24))
   end
   send_customers()
   send_history()
end

-- The numbers from 1 to `size`, shuffled.
local function permutation(size)
   local numbers = {}
   for last = 1, size do
      local place = uniform(1, last)
      numbers[last] = numbers[place]
      numbers[place] = last
   end
   return numbers
end

local function load_orders(warehouse, district, loaded_at)
   local add_order, send_orders = inserter("orders")
   local add_new_order, send_new_orders = inserter("new_order")
   local add_line, send_lines = inserter("order_line")
   local customers = permutation(CUSTOMERS)
   local delivered_at = ("'%s'"):format(loaded_at)
   for order = 1, ORDERS do
      local delivered, lines = order <= DELIVERED_ORDERS, uniform(5, 15)
      add_order("(%d,%d,%d,%d,'%s',%s,%d,1)", order, district, warehouse, customers[order],
         loaded_at, delivered and uniform(1, 10) or "NULL", lines)
      if not delivered then
         add_new_order("(%d,%d,%d)", order, district, warehouse)
      end
      for line = 1, lines do
         add_line("(%d,%d,%d,%d,%d,%d,%s,5,%.2f,'%s')", order, district, warehouse, line,
            uniform(1, ITEMS), warehouse, delivered and delivered_at or "NULL",
            delivered and 0 or uniform(1, 999999) / 100, text(24, 24))
      end
   end
   send_orders()
   send_new_orders()
   send_lines()
end

-- The warehouses are dealt out to the threads, and then all districts of all of them.
local function load_share(thread, threads, warehouses)
   local loaded_at = time_stamp()
   if thread == 0 then
      say("load to item")
      load_items()
   end
   for warehouse = thread + 1, warehouses, threads do
      say("load to stock in warehouse " .. warehouse)
      load_warehouse(warehouse)
   end
   for place = thread, warehouses * DISTRICTS - 1, threads do
      local warehouse, district = math.floor(place / DISTRICTS) + 1, place % DISTRICTS + 1
      say(("load to customer and orders in warehouse %d district %d"):format(warehouse, district))
      load_customers(warehouse, district, loaded_at)
      load_orders(warehouse, district, loaded_at)
   end
end

local function prepare()
   local warehouses = checked_warehouses()
   connect()
   if sysbench.tid == 0 then
      say(VERSION)
      for name, columns in pairs(TABLES) do
         say("creating table " .. name)
         connection:query(("CREATE TABLE %s (%s)"):format(name, columns))
      end
      shared.tables_created = 1
   end
   while shared.tables_created == 0 do
      ffi.C.usleep(10000)
   end
   load_share(sysbench.tid, sysbench.opt.threads, warehouses)
end

-- sysbench forgets that a thread of a command failed, and would end with 0.
local function prepare_or_die()
   local succeeded, problem = pcall(prepare)
   if not succeeded then
      die("FATAL: prepare failed: " .. (server_error() or tostring(problem)))
   end
end

sysbench.cmdline.commands = {prepare = {prepare_or_die, sysbench.cmdline.PARALLEL_COMMAND}}

-- ---- run: the transactions ----------------------------------------------------------------------

local ONE_DISTRICT = " WHERE d_w_id = %d AND d_id = %d"
local ONE_CUSTOMER = " WHERE c_w_id = %d AND c_d_id = %d AND c_id = %d"
local ONE_NAME = " FROM customer WHERE c_w_id = %d AND c_d_id = %d AND c_last = '%s'"

-- What a customer orders (2.4.1.5): lines with item, quantity and supplying warehouse; 1 % of the
-- lines come from another warehouse. In 1 % of the orders the last item does not exist (2.4.1.4).
local function random_lines(home, warehouses)
   local lines, by_item, all_local = {}, {}, 1
   local count, is_wrong = uniform(5, 15), uniform(1, 100) == 1
   for place = 1, count do
      local item = -1
      if not (is_wrong and place == count) then
         repeat item = skewed(8191, C_ITEM, 1, ITEMS) until by_item[item] == nil
      end
      local supply = uniform(1, 100) == 1 and other_warehouse(home, warehouses) or home
      all_local = supply == home and all_local or 0
      lines[place] = {item = item, supply = supply, quantity = uniform(1, 10)}
      by_item[item] = lines[place]
   end
   return lines, by_item, all_local
end

-- What `write` makes of each line and its place, with commas between.
local function listed(lines, write)
   local parts = {}
   for place, line in ipairs(lines) do
      parts[place] = write(line, place)
   end
   return table.concat(parts, ",")
end

-- Notes the prices; true if all items exist.
local function read_items(lines, by_item)
   local result = query("SELECT i_price, i_name, i_data, i_id FROM item WHERE i_id IN (%s)",
      listed(lines, function(line) return line.item end))
   for _ = 1, result.nrows do
      local row = fetch(result)
      by_item[number(row, 3)].price = number(row, 0)
   end
   return result.nrows == #lines
end

-- Notes what is left of each item, and the text for the district.
local function read_stock(lines, by_item, district)
   local result = query("SELECT s_i_id, s_quantity, s_data, s_dist_01, s_dist_02, s_dist_03, " ..
      "s_dist_04, s_dist_05, s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10 FROM stock " ..
      "WHERE (s_w_id, s_i_id) IN (%s) FOR UPDATE",
      listed(lines, function(line) return ("(%d,%d)"):format(line.supply, line.item) end))
   if result.nrows ~= #lines then
      error("a row is missing in the database: an item is not in stock", 0)
   end
   for _ = 1, #lines do
      local row = fetch(result)
      local line = by_item[number(row, 0)]
      local left = number(row, 1) - line.quantity
      line.stock = left < 10 and left + 91 or left
      line.district_info = field(row, 2 + district)
   end
end

-- 2.4
local function new_order(warehouses)
   local warehouse, district = uniform(1, warehouses), uniform(1, DISTRICTS)
   local customer = random_customer()
   local lines, by_item, all_local = random_lines(warehouse, warehouses)
   one_row("SELECT c_discount, c_last, c_credit, w_tax FROM customer, warehouse " ..
      "WHERE w_id = %d AND c_w_id = w_id AND c_d_id = %d AND c_id = %d",
      warehouse, district, customer)
   local order = number(one_row("SELECT d_next_o_id, d_tax FROM district" ..
      ONE_DISTRICT .. " FOR UPDATE", warehouse, district), 0)
   query("UPDATE district SET d_next_o_id = %d + 1" .. ONE_DISTRICT, order, warehouse, district)
   query("INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local) " ..
      "VALUES (%d, %d, %d, %d, '%s', %d, %d)",
      order, district, warehouse, customer, time_stamp(), #lines, all_local)
   query("INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (%d, %d, %d)",
      order, district, warehouse)
   if not read_items(lines, by_item) then
      return "ROLLBACK" -- meant to be (2.4.1.4)
   end
   read_stock(lines, by_item, district)
   for _, line in ipairs(lines) do
      query("UPDATE stock SET s_quantity = %d, s_ytd = s_ytd + %d, s_order_cnt = s_order_cnt + " ..
         "1, s_remote_cnt = s_remote_cnt + %d WHERE s_i_id = %d AND s_w_id = %d", line.stock,
         line.quantity, line.supply == warehouse and 0 or 1, line.item, line.supply)
   end
   query("INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, " ..
      "ol_supply_w_id, ol_quantity, ol_amount, ol_dist_info) VALUES %s",
      listed(lines, function(line, place)
         return ("(%d,%d,%d,%d,%d,%d,%d,%.2f,'%s')"):format(order, district, warehouse, place,
            line.item, line.supply, line.quantity, line.quantity * line.price, line.district_info)
      end))
end

-- 2.5; 60 % by last name, 15 % for a customer of another warehouse (2.5.1.2)
local function payment(warehouses)
   local warehouse, district = uniform(1, warehouses), uniform(1, DISTRICTS)
   local amount, home, home_district = uniform(100, 500000) / 100, warehouse, district
   if uniform(1, 100) > 85 and warehouses > 1 then
      home, home_district = other_warehouse(warehouse, warehouses), uniform(1, DISTRICTS)
   end
   query("UPDATE district SET d_ytd = d_ytd + %.2f" .. ONE_DISTRICT, amount, warehouse, district)
   local district_name = field(one_row("SELECT d_street_1, d_street_2, d_city, " ..
      "d_state, d_zip, d_name FROM district" .. ONE_DISTRICT, warehouse, district), 5)
   query("UPDATE warehouse SET w_ytd = w_ytd + %.2f WHERE w_id = %d", amount, warehouse)
   local warehouse_name = field(one_row("SELECT w_street_1, w_street_2, w_city, " ..
      "w_state, w_zip, w_name FROM warehouse WHERE w_id = %d", warehouse), 5)
   local customer = random_customer()
   if uniform(1, 100) <= 60 then
      customer = number(middle_row("SELECT c_id" .. ONE_NAME .. " ORDER BY c_first",
         home, home_district, random_last_name(C_LAST_RUN)), 0)
   end
   local credit = field(one_row("SELECT c_first, c_middle, c_last, c_street_1, " ..
      "c_street_2, c_city, c_state, c_zip, c_phone, c_credit, c_credit_lim, c_discount, " ..
      "c_balance, c_since FROM customer" .. ONE_CUSTOMER .. " FOR UPDATE",
      home, home_district, customer), 9)
   local new_data = ""
   if credit == "BC" then -- 2.5.2.2
      local old_data = field(one_row("SELECT c_data FROM customer" .. ONE_CUSTOMER,
         home, home_district, customer), 0)
      local line = ("| %4d %2d %4d %2d %4d $%7.2f %s %s"):format(customer, home_district, home,
         district, warehouse, amount, time_stamp(), old_data)
      new_data = (", c_data = '%s'"):format(line:sub(1, 500))
   end
   query("UPDATE customer SET c_balance = c_balance - %.2f, c_ytd_payment = c_ytd_payment + " ..
      "%.2f, c_payment_cnt = c_payment_cnt + 1%s" .. ONE_CUSTOMER,
      amount, amount, new_data, home, home_district, customer)
   query("INSERT INTO history (h_c_d_id, h_c_w_id, h_c_id, h_d_id, h_w_id, h_date, h_amount, " ..
      "h_data) VALUES (%d, %d, %d, %d, %d, '%s', %.2f, '%10s    %10s')", home_district, home,
      customer, district, warehouse, time_stamp(), amount, warehouse_name, district_name)
end

-- 2.6; 60 % by last name (2.6.1.2)
local function order_status(warehouses)
   local warehouse, district = uniform(1, warehouses), uniform(1, DISTRICTS)
   local customer = random_customer()
   if uniform(1, 100) <= 60 then
      local name = random_last_name(C_LAST_RUN)
      one_row("SELECT count(c_id) namecnt" .. ONE_NAME, warehouse, district, name)
      customer = number(middle_row("SELECT c_balance, c_first, c_middle, c_id" ..
         ONE_NAME .. " ORDER BY c_first", warehouse, district, name), 3)
   else
      one_row("SELECT c_balance, c_first, c_middle, c_last FROM customer" ..
         ONE_CUSTOMER, warehouse, district, customer)
   end
   local order = number(one_row("SELECT o_id, o_carrier_id, o_entry_d FROM orders " ..
      "WHERE o_w_id = %d AND o_d_id = %d AND o_c_id = %d ORDER BY o_id DESC LIMIT 1",
      warehouse, district, customer), 0)
   query("SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line " ..
      "WHERE ol_w_id = %d AND ol_d_id = %d AND ol_o_id = %d", warehouse, district, order)
end

-- 2.7; all ten districts at once, in one transaction
local function delivery(warehouses)
   local warehouse, carrier = uniform(1, warehouses), uniform(1, 10)
   local customers, amounts, keys = {}, {}, {}
   for district = 1, DISTRICTS do
      local result = query("SELECT no_o_id FROM new_order WHERE no_w_id = %d AND no_d_id = %d " ..
         "ORDER BY no_o_id ASC LIMIT 1 FOR UPDATE", warehouse, district)
      if result.nrows > 0 then -- a district without new orders is passed over (2.7.4.2)
         keys[#keys + 1] = ("(%d,%d,%d)"):format(warehouse, district, number(fetch(result), 0))
      end
   end
   if #keys == 0 then
      return
   end
   local orders = table.concat(keys, ",")
   query("DELETE FROM new_order WHERE (no_w_id, no_d_id, no_o_id) IN (%s)", orders)
   query("UPDATE orders SET o_carrier_id = %d WHERE (o_w_id, o_d_id, o_id) IN (%s)",
      carrier, orders)
   local result = query(
      "SELECT o_d_id, o_c_id FROM orders WHERE (o_w_id, o_d_id, o_id) IN (%s)", orders)
   for _ = 1, result.nrows do
      local row = fetch(result)
      customers[number(row, 0)] = number(row, 1)
   end
   query("UPDATE order_line SET ol_delivery_d = '%s' WHERE (ol_w_id, ol_d_id, ol_o_id) IN (%s)",
      time_stamp(), orders)
   result = query("SELECT ol_d_id, SUM(ol_amount) FROM order_line " ..
      "WHERE (ol_w_id, ol_d_id, ol_o_id) IN (%s) GROUP BY ol_d_id", orders)
   for _ = 1, result.nrows do
      local row = fetch(result)
      amounts[number(row, 0)] = field(row, 1)
   end
   for district = 1, DISTRICTS do
      if customers[district] then
         query("UPDATE customer SET c_balance = c_balance + %s, c_delivery_cnt = " ..
            "c_delivery_cnt + 1" .. ONE_CUSTOMER,
            amounts[district], warehouse, district, customers[district])
      end
   end
end

-- 2.8; the last 20 orders. The hint is for TiDB.
local function stock_level(warehouses)
   local warehouse, district = uniform(1, warehouses), uniform(1, DISTRICTS)
   local next_order = number(one_row("SELECT d_next_o_id FROM district" .. ONE_DISTRICT,
      warehouse, district), 0)
   query("SELECT /*+ TIDB_INLJ(order_line,stock) */ COUNT(DISTINCT (s_i_id)) stock_count " ..
      "FROM order_line, stock WHERE ol_w_id = %d AND ol_d_id = %d AND ol_o_id < %d " ..
      "AND ol_o_id >= %d - 20 AND s_w_id = %d AND s_i_id = ol_i_id AND s_quantity < %d",
      warehouse, district, next_order, next_order, warehouse, uniform(10, 20))
end

-- By name, as they are reported; each takes two places in a slot, the second for its failures.
-- Shares in percent (5.2.3), drawn anew each time.
local OPERATIONS = {
   {name = "DELIVERY", share = 4, execute = delivery},
   {name = "NEW_ORDER", share = 45, execute = new_order},
   {name = "ORDER_STATUS", share = 4, execute = order_status},
   {name = "PAYMENT", share = 43, execute = payment},
   {name = "STOCK_LEVEL", share = 4, execute = stock_level},
}

-- ---- run: the events ----------------------------------------------------------------------------

-- A bucket ends 2 % above the one before; the first at 10 us, the last at half an hour.
local BUCKETS, FIRST_BUCKET_MS, BUCKET_LOG = 960, 0.01, math.log(1.02)
local NEW_ORDER = 2 -- its place in a slot
local slot

local function record(operation, took)
   operation.count = operation.count + 1
   operation.sum = operation.sum + took
   operation.max = math.max(operation.max, took)
   local bucket = math.ceil(math.log(math.max(took / FIRST_BUCKET_MS, 1)) / BUCKET_LOG)
   bucket = math.min(bucket, BUCKETS - 1)
   operation.buckets[bucket] = operation.buckets[bucket] + 1
end

local function random_operation()
   local place, left = 1, uniform(1, 100) - OPERATIONS[1].share
   while left > 0 do
      place = place + 1
      left = left - OPERATIONS[place].share
   end
   return place
end

-- A rollback that is meant to be is counted like a commit, as go-tpc does.
local function transact(operation)
   query("START TRANSACTION")
   query(operation.execute(sysbench.opt.warehouses) or "COMMIT")
end

-- sysbench throws a table for errors of --mysql-ignore-errors, and text for everything else. A
-- line without a time is that of a worker which died.
local function roll_back(problem)
   if type(problem) == "table" then
      say(("[%s] execute run failed, err %s"):format(time_stamp(), server_error()))
      if pcall(query, "ROLLBACK") then
         return
      end
   end
   die("execute run failed, err " .. (server_error() or tostring(problem)))
end

-- Called once, before there are threads.
function init()
   say(VERSION)
   local warehouses = checked_warehouses()
   connect()
   local found, row = pcall(one_row, "SELECT COALESCE(MAX(w_id), 0) FROM warehouse")
   if not found then
      error(("the table warehouse cannot be read (%s): run `prepare` with --warehouses=%d on " ..
         "this database first"):format(server_error(), warehouses), 0)
   end
   if number(row, 0) ~= warehouses then
      error(("--warehouses is %d and the database holds %d: give the number that was loaded, or " ..
         "load anew into an empty database"):format(warehouses, number(row, 0)), 0)
   end
   connection:disconnect()
   shared.slots = allocate("tpcc_slot", sysbench.opt.threads)
end

function thread_init(thread)
   slot = shared.slots[thread]
   connect()
end

function event()
   local place = random_operation()
   local began = now_ms()
   if slot.began == 0 then
      slot.began = began
   end
   local succeeded, problem = pcall(transact, OPERATIONS[place])
   if not succeeded then
      roll_back(problem)
   end
   slot.ended = now_ms()
   record(slot.operations[2 * place - (succeeded and 2 or 1)], slot.ended - began)
end

function thread_done()
   connection:disconnect()
end

-- ---- run: the reports ---------------------------------------------------------------------------

-- When the first worker began and the last one ended its last transaction; nil if none has begun.
local function time_of_work()
   local began, ended = nil, 0
   for thread = 0, sysbench.opt.threads - 1 do
      local one = shared.slots[thread]
      if one.began > 0 then
         began, ended = math.min(began or one.began, one.began), math.max(ended, one.ended)
      end
   end
   return began, ended
end

-- What is in one place of all slots together.
local function total_of(place)
   local total = ffi.new("tpcc_operation")
   for thread = 0, sysbench.opt.threads - 1 do
      local one = shared.slots[thread].operations[place]
      total.count, total.sum = total.count + one.count, total.sum + one.sum
      total.max = math.max(total.max, one.max)
      for bucket = 0, BUCKETS - 1 do
         total.buckets[bucket] = total.buckets[bucket] + one.buckets[bucket]
      end
   end
   return total
end

local function end_of(bucket, operation)
   return math.min(FIRST_BUCKET_MS * math.exp(bucket * BUCKET_LOG), operation.max)
end

-- What was added since the last report. Its maximum is the end of its last bucket.
local function added_to(place)
   local total, before = total_of(place), shared.reported[place]
   local added = ffi.new("tpcc_operation")
   added.count, added.sum = total.count - before.count, total.sum - before.sum
   for bucket = 0, BUCKETS - 1 do
      added.buckets[bucket] = total.buckets[bucket] - before.buckets[bucket]
      if added.buckets[bucket] > 0 then
         added.max = end_of(bucket, total)
      end
   end
   shared.reported[place] = total
   return added
end

local function percentile(operation, percent)
   local left = math.ceil(operation.count * percent / 100)
   for bucket = 0, BUCKETS - 1 do
      left = left - operation.buckets[bucket]
      if left <= 0 then
         return end_of(bucket, operation)
      end
   end
   return operation.max
end

-- A line for each operation that occurred; `measured` gives it by its place.
local function lines_of(prefix, measured, seconds)
   local lines = {}
   for place = 0, 2 * #OPERATIONS - 1 do
      local one = measured(place)
      if one.count > 0 then
         local name = OPERATIONS[math.floor(place / 2) + 1].name
         lines[#lines + 1] = ("[%s] %s%s - Takes(s): %.1f, Count: %d, TPM: %.1f, Sum(ms): %.1f, " ..
            "Avg(ms): %.1f, 50th(ms): %.1f, 90th(ms): %.1f, 95th(ms): %.1f, 99th(ms): %.1f, " ..
            "99.9th(ms): %.1f, Max(ms): %.1f\n"):format(prefix, name,
            place % 2 == 1 and "_ERR" or "", seconds, one.count, one.count / seconds * 60, one.sum,
            one.sum / one.count, percentile(one, 50), percentile(one, 90), percentile(one, 95),
            percentile(one, 99), percentile(one, 99.9), one.max)
      end
   end
   return table.concat(lines)
end

local function reported_at()
   return shared.reported_at > 0 and shared.reported_at or time_of_work()
end

local function report_interval(at)
   if reported_at() ~= nil then
      io.stdout:write(lines_of("Current", added_to, (at - reported_at()) / 1000))
      shared.reported_at = at
   end
end

function sysbench.hooks.report_intermediate()
   -- sysbench cancels this thread at the end of the run: not in the middle of a line.
   local before = ffi.new("int[1]")
   ffi.C.pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, before)
   report_interval(now_ms())
   ffi.C.pthread_setcancelstate(before[0], before)
end

function sysbench.hooks.report_cumulative()
   local began, ended = time_of_work()
   if began == nil then
      say("Finished")
      return
   end
   -- The last interval ends with the run: whether the reporting thread came to it is chance.
   local interval_ms = sysbench.opt.report_interval * 1000
   if interval_ms > 0 and ended - reported_at() > interval_ms / 2 then
      report_interval(ended)
   end
   local seconds, transactions = (ended - began) / 1000, 0
   io.stdout:write("Finished\n" .. lines_of("Summary", total_of, seconds))
   for place = 0, 2 * #OPERATIONS - 1, 2 do
      transactions = transactions + total_of(place).count
   end
   local tpmc = total_of(NEW_ORDER).count / seconds * 60
   if tpmc > 0 then
      say(("tpmC: %.1f, tpmTotal: %.1f, efficiency: %.1f%%"):format(tpmc,
         transactions / seconds * 60, 100 * tpmc / (WAREHOUSE_TPMC * sysbench.opt.warehouses)))
   end
end
