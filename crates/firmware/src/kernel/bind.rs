//! Binding: the chosen operation gets its page and its partners, and its units their new places.

use super::{stream_of, Fault, HostDone, Kernel, Waits};
use crate::map::Place;
use crate::ops::{Fifo, FlashOp, Role, NONE};
use crate::policy::guest::failed;
use crate::space::{BoundPage, Stream};
use crate::task::{Action, Class, Task, CLASSES};
use wordline_flash::{Kind, PageAddress};

const GC_WRITE: Class = Class::new(Task::GC, Action::Program);

impl Kernel {
    /// Takes the oldest operation of a plane's queue.
    #[inline(always)]
    pub(super) fn pop(&mut self, plane: u32, class: Class) -> Option<u32> {
        let slot = self.pop_uncounted(plane, class)?;
        self.leaves_queue(plane, class);
        Some(slot)
    }

    /// The same, but the operation still counts as one that waits there.
    #[inline(always)]
    pub(super) fn pop_uncounted(&mut self, plane: u32, class: Class) -> Option<u32> {
        let fifo = &mut self.queues[plane as usize * CLASSES + class.index()];
        let slot = fifo.pop(&self.slab)?;
        if fifo.head == NONE {
            self.clear_waiting(plane, class);
        }
        Some(slot)
    }

    /// Takes the newest operation of a plane's queue.
    pub(super) fn pop_last(&mut self, plane: u32, class: Class) -> Option<u32> {
        let fifo = &mut self.queues[plane as usize * CLASSES + class.index()];
        let slot = fifo.pop_last(&mut self.slab)?;
        if fifo.head == NONE {
            self.clear_waiting(plane, class);
        }
        self.leaves_queue(plane, class);
        Some(slot)
    }

    #[inline]
    pub(super) fn clear_waiting(&mut self, plane: u32, class: Class) {
        let die = self.planes_per_die.quotient(plane);
        self.dies[die as usize].waiting.clear(class, self.planes_per_die.remainder(plane));
    }

    /// Page of a place within its block.
    #[inline]
    pub(super) fn page_of(&self, place: Place) -> u32 {
        self.units_per_page.quotient(self.units_per_block.remainder(place))
    }

    /// Page of its block that a write of a plane gets next, in pages of the NAND.
    pub(super) fn page_to_write(&self, plane: u32, stream: Stream) -> u32 {
        let next = self.space.next_page(&self.blocks, plane, stream);
        let pages = if self.space.is_slc(next) { 1 } else { self.pages_per_program };
        self.space.page_alone(next) * pages
    }

    #[inline]
    pub(super) fn address(&self, place: Place) -> PageAddress {
        let block = self.units_per_block.quotient(place);
        self.page_address(self.blocks_per_plane.quotient(block), block, self.page_of(place))
    }

    /// The address of a page of a block, which is in a plane.
    #[inline]
    pub(super) fn page_address(&self, plane: u32, block: u32, page: u32) -> PageAddress {
        PageAddress {
            plane: self.planes_per_die.remainder(plane),
            block: block - plane * self.blocks_per_plane.get(),
            page,
        }
    }

    /// True if the units of a read still lie where it expects them. Mostly it is one unit of the host.
    #[inline(always)]
    pub(super) fn is_current(&self, op: &FlashOp) -> bool {
        if op.units <= 1 && op.class.is_host() && op.role != Role::Part {
            return self.map.lies_at(op.unit, op.source);
        }
        self.is_any_current(op)
    }

    #[inline(never)]
    fn is_any_current(&self, op: &FlashOp) -> bool {
        if !op.class.is_host() && op.role != Role::Map {
            return true;
        }
        if op.role == Role::Part {
            return self.part_is_current(op);
        }
        self.lies_together(op)
    }

    /// True if the units of an operation lie in the page that it reads.
    #[inline]
    pub(super) fn lies_together(&self, op: &FlashOp) -> bool {
        if op.units <= 1 {
            return self.map.lies_at(op.unit, op.source);
        }
        let page = op.source - self.units_per_page.remainder(op.source);
        let lies_there = |place: Place| place.wrapping_sub(page) < self.plan.units_per_page;
        (op.unit..op.unit + u32::from(op.units)).all(|unit| self.map.place(unit).is_some_and(lies_there))
    }

    /// Binds a read, with partners of other planes, unless its data have moved.
    #[inline(never)]
    pub(super) fn issue_read(&mut self, die: u32, class: Class, place: Waits) -> Result<(), Fault> {
        self.command.clear(Kind::Read);
        let Waits::Plane(plane) = place else { unreachable!("reads have a plane") };
        let slot = self.pop_uncounted(plane, class).expect("the survey saw it");
        let op = self.slab.get(slot);
        if !self.is_current(op) {
            self.leaves_queue(plane, class);
            self.reroute(slot);
            return Ok(());
        }
        let FlashOp { role, source, owner, .. } = *op;
        if role == Role::Copy {
            self.leaves_queue(plane, class);
            if self.issue_copy(die, plane, slot)? {
                return Ok(());
            }
        } else if let Some(stage) = &mut self.stage {
            // It takes its own place at the die.
            stage.starting += 1;
        }
        self.add_read(die, slot)?;
        let window = self.pack.window();
        let planes = self.flash.geometry().planes_per_die;
        if self.refuses {
            return self.join_agreed_reads(die, slot, class);
        }
        if window > 0 && planes > 1 {
            let page = self.page_of(source);
            let (any_owner, from) = (!self.keeps_to_request(class), self.first_of_page(page));
            let fits = |kernel: &Self, op: &FlashOp| kernel.joins(op, from) && (any_owner || op.owner == owner);
            for partner in die * planes..(die + 1) * planes {
                if partner == plane {
                    continue;
                }
                if let Some(slot) = self.take_read(partner, class, window, fits) {
                    self.add_read(die, slot)?;
                }
            }
            if self.mixes {
                self.join_reads(die, class, page)?;
            }
        }
        Ok(())
    }

    /// True if operations of a class share a command only with those of their request.
    #[inline]
    pub(super) fn keeps_to_request(&self, class: Class) -> bool {
        self.within_request && class.is_host() && !class.is_map_write()
    }

    /// The operations, or chains of them, that a die's command has so far.
    pub(super) fn pages_so_far(&self, die: u32) -> &[u32] {
        let state = &self.dies[die as usize];
        &state.pages[..usize::from(state.count)]
    }

    /// True if an operation may share the command of others as far as requests go: those of the host that keep to their request
    /// have one.
    #[cold]
    pub(super) fn is_of_request(&self, command: &[u32], op: &FlashOp) -> bool {
        let keeps = |op: &FlashOp| self.keeps_to_request(op.class);
        let same = |other: &FlashOp| !keeps(other) || other.owner == op.owner;
        !keeps(op) || command.iter().all(|&slot| same(self.slab.get(slot)))
    }

    /// True if a read can join, or follow, a command for pages whose units begin so in their blocks. Mostly it is of another page.
    #[inline(always)]
    pub(super) fn joins(&self, op: &FlashOp, from: u32) -> bool {
        self.is_at_page(op.source, from) && self.may_join(op)
    }

    /// The first unit of a page, counted in its block.
    #[inline(always)]
    pub(super) fn first_of_page(&self, page: u32) -> u32 {
        page * self.plan.units_per_page
    }

    /// True if a place lies in pages whose units begin so in their blocks.
    #[inline(always)]
    fn is_at_page(&self, place: Place, from: u32) -> bool {
        self.units_per_block.remainder(place).wrapping_sub(from) < self.plan.units_per_page
    }

    #[inline(never)]
    fn may_join(&self, op: &FlashOp) -> bool {
        op.role != Role::Copy
            && self.is_current(op)
            && (!self.has_slc || self.is_slc(self.units_per_block.quotient(op.source)) == self.command.slc)
    }

    /// Takes the first of the oldest `window` operations of a plane's queue that `fits`.
    #[inline]
    pub(super) fn take_read(
        &mut self,
        plane: u32,
        class: Class,
        window: u32,
        fits: impl Fn(&Self, &FlashOp) -> bool,
    ) -> Option<u32> {
        let index = plane as usize * CLASSES + class.index();
        let (before, slot) = self.queues[index].position(&self.slab, window, |op| fits(self, op))?;
        let fifo = &mut self.queues[index];
        fifo.take(&mut self.slab, before, slot);
        if fifo.head == NONE {
            self.clear_waiting(plane, class);
        }
        self.leaves_queue(plane, class);
        Some(slot)
    }

    /// Makes a read the next page of a die's command.
    #[inline(always)]
    pub(super) fn add_read(&mut self, die: u32, slot: u32) -> Result<(), Fault> {
        self.add_page_read(slot)?;
        self.attach(die, slot);
        Ok(())
    }

    /// Adds the page of a read to the command that is put together.
    #[inline(always)]
    pub(super) fn add_page_read(&mut self, slot: u32) -> Result<(), Fault> {
        let op = *self.slab.get(slot);
        if self.shadow.is_some() && (op.role == Role::Map || op.class == Class::HOST_READ) {
            self.check_shadow(slot)?;
        }
        self.slab.get_mut(slot).next = NONE;
        let address = self.address(op.source);
        if self.has_slc {
            self.command.slc = self.is_slc(self.units_per_block.quotient(op.source));
        }
        self.command.add(address, op.bytes);
        Ok(())
    }

    /// Checks on a drive with the shadow disk that a read finds the data of its units.
    #[cold]
    pub(super) fn check_shadow(&mut self, slot: u32) -> Result<(), Fault> {
        let Some(shadow) = &self.shadow else { return Ok(()) };
        let FlashOp { unit, units, role, .. } = *self.slab.get(slot);
        if role == Role::Plain && self.shelf.is_some() {
            self.slab.get_mut(slot).stamp = shadow.versions_of(unit, units.into());
        }
        for unit in unit..unit + u32::from(units) {
            let place = self.map.place(unit).ok_or_else(|| Fault::books(format!("unit {unit} has no place")))?;
            shadow.check(unit, place)?;
        }
        Ok(())
    }

    /// Notes that an operation (or a chain of them) is the next page of a die's command.
    #[inline(always)]
    pub(super) fn attach(&mut self, die: u32, slot: u32) {
        let state = &mut self.dies[die as usize];
        state.pages[usize::from(state.count)] = slot;
        state.count += 1;
    }

    /// Sends a read whose data have moved after them.
    #[cold]
    pub(super) fn reroute(&mut self, slot: u32) {
        let op = *self.slab.get(slot);
        if op.role == Role::Part {
            self.drop_part(slot, &op);
            return;
        }
        if op.role == Role::Old {
            self.follow_old(slot, &op);
            return;
        }
        if op.is_of_overwriting() {
            // The slot stays the same: the write buffer knows the write by it.
            let moved = self.slab.get_mut(slot);
            match self.map.place(op.unit) {
                Some(place) => moved.source = place,
                // Given back meanwhile: the write goes on without old data.
                None => {
                    moved.class = Class::HOST_WRITE;
                    moved.role = Role::Plain;
                }
            }
            self.enqueue(slot);
            return;
        }
        let share = op.bytes / u32::from(op.units);
        self.slab.remove(slot);
        for unit in op.unit..op.unit + u32::from(op.units) {
            match self.map.place(unit) {
                Some(place) => {
                    let slot = self.slab.insert(FlashOp { unit, units: 1, source: place, bytes: share.max(1), ..op });
                    self.enqueue(slot);
                }
                // Given back meanwhile: the read finds nothing.
                None => self.done.push(HostDone { request: op.owner, units: 1, bytes: 0, gc_affected: false }),
            }
        }
    }

    /// Binds a page for writes that wait, with partners of other planes.
    #[inline]
    pub(super) fn issue_write(&mut self, die: u32, class: Class, place: Waits) -> Result<(), Fault> {
        if self.lots.is_some() {
            return self.issue_write_in_turn(die, class, place);
        }
        self.command.clear(Kind::Program);
        let stream = stream_of(class);
        let (Waits::Plane(plane) | Waits::Shared(_, plane)) = place;
        if class.is_map_write() && self.leads_parity(&self.queues[plane as usize * CLASSES + class.index()]) {
            if let Waits::Plane(plane) = place {
                return self.issue_parity(die, class, plane);
            }
        }
        let page = self.space.next_page(&self.blocks, plane, stream);
        self.bind_page(die, plane, class, place)?;
        let planes = self.flash.geometry().planes_per_die;
        if self.pack.window() > 0 && planes > 1 && !self.command.pages().is_empty() {
            // Writes of a page that came from several requests go by the first.
            let owner = self.keeps_to_request(class).then(|| self.slab.get(self.dies[die as usize].pages[0]).owner);
            let joins =
                |kernel: &Self, fifo: &Fifo| owner.is_none_or(|owner| kernel.slab.get(fifo.head).owner == owner);
            for partner in (die * planes..(die + 1) * planes).filter(|&partner| partner != plane) {
                if self.space.next_page(&self.blocks, partner, stream) != page
                    || !self.space.has_room(&self.blocks, partner, stream)
                {
                    continue;
                }
                let own = self.queues[partner as usize * CLASSES + class.index()];
                let domain = self.blocks.domain_of_plane(partner);
                let goes = |kernel: &Self, fifo: &Fifo| {
                    kernel.may_go(fifo, class, domain) || kernel.fills_slc(partner, fifo, class)
                };
                let shared_goes = |kernel: &Self, index, fifo: &Fifo| {
                    kernel.shared_may_go(index, class) || kernel.fills_slc(partner, fifo, class)
                };
                // Parity has its page, and is bound alone.
                let has_data = own.head != NONE && !(class.is_map_write() && self.leads_parity(&own));
                if has_data && goes(self, &own) && joins(self, &own) && self.agrees_on_write(die, own.head, partner) {
                    self.bind_page(die, partner, class, Waits::Plane(partner))?;
                } else if let Waits::Shared(index, _) = place {
                    let fifo = self.shared[index];
                    if fifo.head != NONE
                        && shared_goes(self, index, &fifo)
                        && joins(self, &fifo)
                        && self.agrees_on_write(die, fifo.head, partner)
                    {
                        self.bind_page(die, partner, class, Waits::Shared(index, partner))?;
                    }
                }
            }
            if self.mixes {
                self.join_writes(die, class, page)?;
            }
        }
        Ok(())
    }

    /// Takes the oldest write from where it waits.
    #[inline(always)]
    pub(super) fn pop_write(&mut self, plane: u32, class: Class, place: Waits) -> Option<u32> {
        let Waits::Shared(index, _) = place else { return self.pop(plane, class) };
        let slot = self.shared[index].pop(&self.slab)?;
        self.count_shared(class, -1);
        self.leaves_queue(plane, class);
        if self.shared[index].head == NONE && self.awaiting > 0 && class == Class::HOST_WRITE {
            self.queue_emptied(index);
        }
        Some(slot)
    }

    /// Fills the next page of a plane with writes that wait, and gives their units their new places.
    #[inline]
    pub(super) fn bind_page(&mut self, die: u32, plane: u32, class: Class, place: Waits) -> Result<(), Fault> {
        if self.binds_apart {
            return self.bind_apart(die, plane, class, place);
        }
        if self.bind_full_page(die, plane, class, place)? {
            return Ok(());
        }
        if self.stretches && class == Class::HOST_WRITE {
            return self.bind_stretches(die, plane, place);
        }
        self.bind_next_page::<false>(die, plane, class, place)
    }

    /// The same if the oldest writes of host or GC just fill the next page of an open block, and all are still to be done; false if not, and
    /// nothing has happened yet.
    #[inline(always)]
    pub(super) fn bind_full_page(&mut self, die: u32, plane: u32, class: Class, place: Waits) -> Result<bool, Fault> {
        let most = self.plan.units_per_program;
        let fifo = match place {
            Waits::Plane(plane) => self.queues[plane as usize * CLASSES + class.index()],
            Waits::Shared(index, _) => self.shared[index],
        };
        let plain = !self.avoids_short && self.wishes.is_none() && (self.stage.is_none() || self.straight_by_stage);
        let plain = plain && (class == Class::HOST_WRITE || class == GC_WRITE);
        let (stream, domain) = (stream_of(class), self.blocks.domain_of_plane(plane));
        // A collection that found nothing looks at each moved unit that is invalidated, and at the queue that it left.
        let counts = (class.moves() || self.straight_by_stage) && self.starved[domain as usize];
        let counts = counts || (self.straight_by_stage && self.leaves_in_steps(die, class));
        if fifo.len < most || !plain || counts || !self.space.is_open(plane, stream) {
            return Ok(false);
        }
        let Some(last) = self.end_of_full_page(fifo.head, class, most) else { return Ok(false) };
        match place {
            Waits::Plane(plane) => self.cut_queue(plane, class, last, most),
            Waits::Shared(index, _) => self.cut_shared(index, class, last, most),
        }
        if self.straight_by_stage {
            self.bind_cut_page(die, plane, class, (fifo.head, true))?;
            return Ok(true);
        }
        let bound = self.space.bind_open(&mut self.blocks, plane, stream);
        let mut place = bound.block * self.plan.units_per_block + bound.page * most;
        let mut slot = fifo.head;
        while slot != NONE {
            let FlashOp { units, next, .. } = *self.slab.get(slot);
            if units == 1 {
                self.place_unit(slot, place, bound.block, plane)?;
            } else {
                self.place_stretch(slot, place, bound.block, plane);
            }
            (place, slot) = (place + u32::from(units), next);
        }
        if class.moves() {
            self.settle_units(domain, most);
        }
        self.command
            .add(self.page_address(plane, bound.block, bound.page * self.pages_per_program), self.program_bytes);
        self.attach(die, fifo.head);
        if bound.closed {
            self.settle_page(plane, bound, class);
        }
        Ok(true)
    }

    /// The last of the oldest writes of a queue, from its first on, whose units just fill a page; none if they do not, or some need not be
    /// written as they are.
    #[inline(always)]
    pub(super) fn end_of_full_page(&self, first: u32, class: Class, most: u32) -> Option<u32> {
        let (mut last, mut next, mut units) = (NONE, first, 0);
        while units < most {
            let op = self.slab.get(next);
            // All entries are asked for before the first one changes.
            self.map.expect(op.unit);
            let goes =
                if class.moves() { self.map.is_valid(op.source) } else { op.units > 0 && op.role != Role::Merge };
            if !goes {
                return None;
            }
            units += u32::from(op.units);
            (last, next) = (next, op.next);
        }
        (units == most).then_some(last)
    }

    /// Takes the first operations of a shared queue, up to one of them, which stay linked.
    #[inline]
    fn cut_shared(&mut self, index: usize, class: Class, last: u32, units: u32) {
        self.shared[index].cut(&mut self.slab, last, units);
        self.count_shared(class, -(units as i32));
        if self.shared[index].head == NONE && self.awaiting > 0 && class == Class::HOST_WRITE {
            self.queue_emptied(index);
        }
    }

    /// The same where a collection may change the next page of a plane meanwhile, or the page may be in SLC mode.
    #[cold]
    fn bind_apart(&mut self, die: u32, plane: u32, class: Class, place: Waits) -> Result<(), Fault> {
        if self.space.pairs() {
            self.bind_known_page(die, plane, class, place)
        } else {
            self.bind_next_page::<true>(die, plane, class, place)
        }
    }

    /// The same where no collection changes the next page of a plane meanwhile. With `SLC` it may be in SLC mode.
    #[inline]
    pub(super) fn bind_next_page<const SLC: bool>(
        &mut self,
        die: u32,
        plane: u32,
        class: Class,
        place: Waits,
    ) -> Result<(), Fault> {
        let (mut first, mut last, mut filled) = (NONE, NONE, 0);
        let mut page = None;
        let moves = class.moves();
        if moves && self.plan.units_per_program > 1 && !self.fills_page(plane, class, place) {
            return Ok(());
        }
        let most = if SLC { self.units_to_program(plane, class) } else { self.plan.units_per_program };
        while filled < most {
            let Some(slot) = self.pop_write(plane, class, place) else { break };
            if !self.still_wanted(slot) {
                continue;
            }
            let bound = *page.get_or_insert_with(|| {
                self.space.bind(&mut self.blocks, plane, (stream_of(class), class.task()), &mut self.free_block)
            });
            let at = bound.block * self.plan.units_per_block + bound.page * most + filled;
            self.place_unit(slot, at, bound.block, plane)?;
            if first == NONE {
                first = slot;
            } else {
                self.slab.get_mut(last).next = slot;
            }
            self.slab.get_mut(slot).next = NONE;
            last = slot;
            filled += 1;
        }
        let Some(bound) = page else { return Ok(()) };
        if moves {
            self.settle_units(self.blocks.domain_of_plane(plane), filled);
            if filled < most && matches!(place, Waits::Shared(index, _) if self.is_wish(index, class)) {
                return Err(Fault::books(format!("a wish pads a page of plane {plane}, which nothing promised")));
            }
        }
        self.counters.padded_units += u64::from(most - filled);
        let (mut pages, mut bytes) = (self.pages_per_program, self.program_bytes);
        if SLC && bound.slc {
            (pages, bytes) = (1, self.flash.geometry().page_bytes);
            self.command.slc = true;
            self.counters.slc_pages += 1;
        }
        if filled < most && !self.flash.timing().loads_whole_pages {
            bytes = filled * self.plan.unit_bytes;
        }
        let address = self.page_address(plane, bound.block, bound.page * pages);
        self.command.add(address, bytes);
        self.attach(die, first);
        self.settle_page(plane, bound, class);
        Ok(())
    }

    /// A page of a plane was bound for a class: its block may be full, and another was opened for it perhaps.
    #[inline(always)]
    pub(super) fn settle_page(&mut self, plane: u32, bound: BoundPage, class: Class) {
        let domain = self.blocks.domain_of_plane(plane);
        if bound.closed {
            self.blocks.close(bound.block);
            self.victim.closed(&self.blocks.view(domain), self.blocks.leader(bound.block));
            self.heed(failed(self.victim.trouble()));
            if bound.slc {
                self.ask_about_cache();
            }
        }
        if self.space.has_superblocks() {
            self.settle_row(bound, class);
        }
        if bound.opened || bound.closed {
            self.look_at_wishes();
        }
        if bound.opened || (bound.closed && (self.starved[domain as usize] || self.space.pairs())) {
            self.holding.all_changed();
            self.collect(domain);
        }
    }

    /// True if a write still must be done. A moved unit that was overwritten is dropped; a merge whose old data have
    /// moved or changed reads them again.
    #[inline(always)]
    pub(super) fn still_wanted(&mut self, slot: u32) -> bool {
        let op = *self.slab.get(slot);
        if op.class.moves() {
            let wanted = self.map.is_valid(op.source);
            if !wanted {
                self.drop_moved(slot);
            }
            return wanted;
        }
        if op.units == 0 {
            // Given back while it waited in the buffer.
            self.buffer.bound(op.held, slot);
            self.host_done(slot, &FlashOp { units: 1, ..op }, false);
            return false;
        }
        if op.role == Role::Merge && !self.map.lies_at(op.unit, op.source) {
            match self.map.place(op.unit) {
                Some(place) => {
                    let read = self.slab.get_mut(slot);
                    read.class = Class::HOST_READ;
                    read.source = place;
                    self.enqueue(slot);
                    return false;
                }
                None => self.slab.get_mut(slot).role = Role::Plain,
            }
        }
        true
    }

    /// Gives a unit its new place.
    #[inline(always)]
    pub(super) fn place_unit(&mut self, slot: u32, place: Place, block: u32, plane: u32) -> Result<(), Fault> {
        let FlashOp { unit, class, buffered, held, stamp, .. } = *self.slab.get(slot);
        let old = self.map.bind(unit, place);
        if let Some(old) = old {
            self.invalidate(old);
        }
        self.blocks.gain(block, plane);
        if self.follows_units {
            self.unit_changed(slot, (unit, class), old);
        }
        if buffered {
            self.buffer.bound(held, slot);
        }
        if let Some(shadow) = &mut self.shadow {
            if class.moves() {
                shadow.moved(unit, place, stamp)?;
            } else {
                shadow.write(unit, place, stamp);
            }
        }
        Ok(())
    }

    /// A unit got a place, in a drive with units that follow from others (those of the mapping table, or of parity), or with
    /// operations that wait for it.
    #[inline(never)]
    fn unit_changed(&mut self, slot: u32, (unit, class): (u32, Class), old: Option<Place>) {
        if self.after.is_some() {
            self.is_bound(&{ *self.slab.get(slot) });
        }
        self.entry_changed(unit, class);
        if self.parity.is_some() {
            self.tell_parity(slot, old);
        }
    }

    /// The same to the rows of parity.
    #[cold]
    fn tell_parity(&mut self, slot: u32, old: Option<Place>) {
        let op = *self.slab.get(slot);
        // What was read is what is overwritten only if no other write of the unit came between.
        let known = old.is_none() || (op.is_of_overwriting() && old == Some(op.source));
        self.parity_changes(op.unit, op.class, known);
    }

    /// The data at a place are no longer wanted.
    #[inline(always)]
    pub(super) fn invalidate(&mut self, place: Place) {
        let block = self.units_per_block.quotient(place);
        self.map.invalidate(place);
        let domain = self.blocks.lose(block);
        if self.starved[domain as usize] {
            self.feed(domain);
        }
    }

    /// There may be something to gain in a domain that found nothing before.
    #[cold]
    pub(super) fn feed(&mut self, domain: u32) {
        self.starved[domain as usize] = false;
        self.collect(domain);
    }

    /// Binds an erase, with partners of other planes.
    pub(super) fn issue_erase(&mut self, die: u32, class: Class, place: Waits) {
        let Waits::Plane(plane) = place else { unreachable!("erases have a plane") };
        self.command.clear(Kind::Erase);
        let planes = self.flash.geometry().planes_per_die;
        let partners = if self.pack.window() > 0 { planes } else { 0 };
        let others = (die * planes..die * planes + partners).filter(|&other| other != plane);
        for (nth, plane) in std::iter::once(plane).chain(others).enumerate() {
            if nth > 0 && self.refuses && !self.lets_erase(die, plane, class) {
                continue;
            }
            let Some(slot) = self.pop(plane, class) else { continue };
            let block = self.slab.get(slot).source;
            self.slab.get_mut(slot).next = NONE;
            let address = self.address(block * self.plan.units_per_block);
            self.command.add(address, 0);
            self.attach(die, slot);
        }
    }
}
